package seal

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/base64"
	"fmt"

	"sessionhub/lib/record"
)

func signing() *ed25519.Options {
	return &ed25519.Options{Hash: crypto.SHA512, Context: Context}
}

// Sign makes the Ed25519ph signature over a manifest's bytes.
func (k *Keys) Sign(manifest []byte) ([]byte, error) {
	digest := sha512.Sum512(manifest)
	sig, err := k.signer.Sign(nil, digest[:], signing())
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return sig, nil
}

// Bind writes this machine's keys into a manifest that it is to sign.
func (k *Keys) Bind(m *record.Manifest) {
	m.Signer, m.FromRecipient = k.Public.Signer, k.Public.Recipient
}

// VerifySignature checks a signature over a manifest's bytes by signer, a
// base64 Ed25519 key. It says nothing of whether the signer is to be trusted.
func VerifySignature(signer string, manifest, signature []byte) error {
	key, err := parseSigner(signer)
	if err != nil {
		return err
	}
	digest := sha512.Sum512(manifest)
	if err := ed25519.VerifyWithOptions(key, digest[:], signature, signing()); err != nil {
		return fmt.Errorf("%w: the manifest is not what its signer signed", ErrSignature)
	}
	return nil
}

func parseSigner(s string) (ed25519.PublicKey, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != ed25519.PublicKeySize || len(s) != base64.StdEncoding.EncodedLen(len(b)) { // the decoder passes over line ends
		return nil, fmt.Errorf("%w: the signer is not the base64 of %d bytes", ErrKey, ed25519.PublicKeySize)
	}
	return b, nil
}

// Self verifies a bundle's signature by the signer that its manifest names: it
// is whole, whoever made it.
func Self(m *record.Manifest, manifest, signature []byte) error {
	return VerifySignature(m.Signer, manifest, signature)
}

// By gives a check of a bundle's signature by this signer and no other.
func By(signer string) func(m *record.Manifest, manifest, signature []byte) error {
	return func(m *record.Manifest, manifest, signature []byte) error {
		if m.Signer != signer {
			return fmt.Errorf("%w: the bundle is signed by %s, not by %s", ErrSignature, shortSigner(m.Signer), shortSigner(signer))
		}
		return VerifySignature(signer, manifest, signature)
	}
}

// shortSigner is a signer for an error: hostile text is not shown.
func shortSigner(s string) string {
	if _, err := parseSigner(s); err != nil {
		return "something that is no key"
	}
	return s
}
