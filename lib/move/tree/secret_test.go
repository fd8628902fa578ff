package tree

import "testing"

// Field report A38: a credentials file rode along.
func TestA38SecretsStay(t *testing.T) {
	for _, name := range []string{
		".env", "a/.env", ".env.local", ".ENV.production", "prod.env", ".envrc", "id_rsa", "keys/id_ed25519", "id_ecdsa_sk", "x.pem", "x.KEY", "x.p12", "x.pfx",
		"x.jks", "x.keystore", "AuthKey_1.p8", "x.ppk", "x.kdbx", "credentials.json", "credentials-prod.json", "gcp-credentials.json", "client_secret_1.json",
		"service-account.json", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".git-credentials", ".pypirc", ".htpasswd", ".aws/credentials", "h/.aws/credentials",
		".docker/config.json", ".kube/config", ".claude/.credentials.json", ".config/gh/hosts.yml", ".cargo/credentials.toml", "terraform.tfstate", "x.tfvars",
		"secrets.yaml", "kubeconfig", "x.ovpn",
	} {
		if secretName(name) == "" {
			t.Errorf("%s travels", name)
		}
	}
	for _, name := range []string{
		".env.example", ".env.sample", ".env.template", ".env.dist", "env", "environment.ts", "id_rsa.pub", "x.pem.md", "monkey", "keyboard.go", "credentials.go",
		"docker/config.json", "config", "aws/credentials.md", ".npmrc", "secrets.go", "keys/readme",
	} {
		if why := secretName(name); why != "" {
			t.Errorf("%s stays: %s", name, why)
		}
	}
}

func TestSecretContent(t *testing.T) {
	for _, c := range []struct {
		name, content string
		secret        bool
	}{
		{"notes", "x\n-----BEGIN OPENSSH PRIVATE KEY-----\n", true},
		{"notes", "-----BEGIN CERTIFICATE-----\nx\n-----BEGIN RSA PRIVATE KEY-----\n", true},
		{"notes", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n", true},
		{"notes", "# created\nAGE-SECRET-KEY-1X", true},
		{"notes", "-----BEGIN CERTIFICATE-----\nPRIVATE KEY-----", false},
		{".npmrc", "//registry.npmjs.org/:_authToken=x", true},
		{"web/.npmrc", "_password=x", true},
		{".npmrc", "registry=https://registry.npmjs.org/", false},
		{".yarnrc.yml", "npmAuthToken: x", true},
		{"pip.conf", "index-url = https://u:p@example.org/", true},
		{"pip.conf", "index-url = https://example.org/", false},
		{"a", "", false},
	} {
		if why := secretContent(c.name, []byte(c.content)); (why != "") != c.secret {
			t.Errorf("%s %q: %q", c.name, c.content, why)
		}
	}
}
