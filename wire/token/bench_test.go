package token

import "testing"

func BenchmarkContainerToken(b *testing.B) {
	signer, c := NewSigner(vectorKey), vectorContainer()
	identifier, password := make([]byte, 0, 512), make([]byte, 0, PasswordSize)
	b.ReportAllocs()
	for b.Loop() {
		identifier = c.Append(identifier[:0], vectorTypes)
		password = signer.Append(password[:0], identifier)
	}
}

func BenchmarkVerify(b *testing.B) {
	signer, identifier := NewSigner(vectorKey), unhex(vectors[0].identifier)
	password := unhex(vectors[0].password)
	b.ReportAllocs()
	for b.Loop() {
		if !signer.Verify(identifier, password) {
			b.Fatal("a right password does not verify")
		}
	}
}

func BenchmarkParseContainer(b *testing.B) {
	c := vectorContainer()
	identifier := c.Append(nil, vectorTypes)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseContainer(identifier, vectorTypes); err != nil {
			b.Fatal(err)
		}
	}
}
