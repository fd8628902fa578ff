package tree

import (
	"bytes"
	"path"
	"strings"
)

// secretNames are names of files that hold secrets, as path.Match patterns on
// the name in lower case. Those that are also given away stand in openNames.
func secretNames() []string {
	return []string{
		".env", ".env.*", "*.env", ".envrc",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk",
		"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.p8", "*.ppk", "*.kdbx", "*.age-key", "*.agekey",
		"credentials*.json", "*credentials.json", "client_secret*.json", "service-account*.json", "service_account*.json",
		".netrc", "_netrc", ".pgpass", ".my.cnf", ".git-credentials", ".pypirc", ".htpasswd", ".vault-token", ".npmtoken",
		"*.tfstate", "*.tfstate.backup", "*.tfvars", "secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml", "kubeconfig", "*.kubeconfig",
		"terraform.rc", ".terraformrc", ".dockercfg", "*.gpg-key", "*.ovpn",
	}
}

// secretPaths are the last parts of paths.
func secretPaths() []string {
	return []string{".aws/credentials", ".docker/config.json", ".kube/config", ".claude/.credentials.json", ".config/gh/hosts.yml", ".azure/accesstokens.json", ".gem/credentials", ".cargo/credentials", ".cargo/credentials.toml"}
}

// openNames are made to be shown.
func openNames() []string {
	return []string{".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", "example.env", "sample.env", "*.pub"}
}

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}

// secretName says why a file at this path looks like a secret; empty if it
// doesn't.
func secretName(file string) string {
	low := strings.ToLower(file)
	name := path.Base(low)
	if matches(openNames(), name) {
		return ""
	}
	for _, p := range secretPaths() {
		if low == p || strings.HasSuffix(low, "/"+p) {
			return "looks like a secret"
		}
	}
	if matches(secretNames(), name) {
		return "looks like a secret"
	}
	return ""
}

// secretHead is how much of a file secretContent wants to see.
const secretHead = 64 << 10

// secretContent says why the beginning of a file looks like a secret,
// whatever the file is called.
func secretContent(file string, head []byte) string {
	for rest := head; ; {
		_, after, ok := bytes.Cut(rest, []byte("-----BEGIN "))
		if !ok {
			break
		}
		line, _, _ := bytes.Cut(after, []byte("\n"))
		if bytes.Contains(line, []byte("PRIVATE KEY-----")) || bytes.Contains(line, []byte("PRIVATE KEY BLOCK-----")) {
			return "holds a private key"
		}
		rest = after
	}
	if bytes.Contains(head, []byte("AGE-SECRET-KEY-")) {
		return "holds a private key"
	}
	switch strings.ToLower(path.Base(file)) {
	case ".npmrc", ".yarnrc", ".yarnrc.yml":
		low := bytes.ToLower(head)
		for _, word := range []string{"_authtoken", "_auth=", "_auth =", "_password", "npmauthtoken", "npmauthident"} {
			if bytes.Contains(low, []byte(word)) {
				return "holds a token"
			}
		}
	case "pip.conf", "nuget.config", "settings.xml", ".condarc":
		low := bytes.ToLower(head)
		if bytes.Contains(low, []byte("password")) || bytes.Contains(low, []byte("://")) && bytes.Contains(low, []byte("@")) {
			return "may hold a password"
		}
	}
	return ""
}
