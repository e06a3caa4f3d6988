package webgate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// cookieName is the cookie of hadoop-auth.
const cookieName = "hadoop.auth"

// Kinds of authentication that cookies name. Hadoop's daemons accept only cookies of their own kind; ours accept both.
const (
	Simple        = "simple"    // of NodeManagers
	SimpleOrToken = "simple-dt" // of the ResourceManager
)

// maxCookies bounds how many cookies of that name are looked at.
const maxCookies = 4

// maxSecret bounds the file with the secret, in bytes.
const maxSecret = 64 << 10

// Secret is what signs cookies: the content of the configured file, so that they
// are good at other daemons and after a restart; otherwise nil, for a secret of
// this process.
func Secret(file string, log *slog.Logger) []byte {
	if file == "" {
		return nil
	}
	secret, err := ReadSecret(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // Hadoop's default names a file that hardly anybody has
		log.Warn("cookies are good at this daemon and until it stops only (hadoop.http.authentication.signature.secret.file)", "error", err)
	}
	return secret
}

// ReadSecret reads the file of hadoop.http.authentication.signature.secret.file.
// All of it is the secret, a newline at its end too, as in Hadoop, so that
// daemons that share the file accept each other's cookies.
func ReadSecret(file string) ([]byte, error) {
	secret, err := os.ReadFile(file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the secret that signs cookies: %w", err)
	case len(secret) == 0 || len(secret) > maxSecret:
		return nil, fmt.Errorf("the secret that signs cookies, %s, has %d bytes: want 1 to %d", file, len(secret), maxSecret)
	}
	return secret, nil
}

// newCookie is the Set-Cookie header for a user. The format is that of
// hadoop-auth's AuthenticationToken and Signer. SameSite is ours: pages of other
// sites cannot use the cookie to change anything.
func newCookie(user, kind string, secret []byte, expires time.Time, secure bool) string {
	token := fmt.Sprintf("u=%s&p=%s&t=%s&e=%d", user, user, kind, expires.UnixMilli())
	header := fmt.Sprintf("%s=\"%s&s=%s\"; Path=/; HttpOnly; SameSite=Lax", cookieName, token, base64.StdEncoding.EncodeToString(sign(token, secret)))
	if secure {
		header += "; Secure"
	}
	return header
}

func sign(token string, secret []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(token))
	return mac.Sum(nil)
}

// cookieUser is the user of the first valid cookie, empty if there is none.
func cookieUser(r *http.Request, secret []byte, now time.Time) string {
	for i, c := range r.CookiesNamed(cookieName) {
		if i == maxCookies {
			break
		}
		if user := tokenUser(c.Value, secret, now); user != "" {
			return user
		}
	}
	return ""
}

func tokenUser(value string, secret []byte, now time.Time) string {
	at := strings.LastIndex(value, "&s=")
	if at < 0 {
		return ""
	}
	token := value[:at]
	signature, err := base64.StdEncoding.DecodeString(value[at+len("&s="):])
	if err != nil || !hmac.Equal(signature, sign(token, secret)) {
		return ""
	}
	parts := map[string]string{}
	for _, p := range strings.Split(token, "&") {
		name, v, _ := strings.Cut(p, "=")
		parts[name] = v
	}
	expires, err := strconv.ParseInt(parts["e"], 10, 64)
	if err != nil || expires <= now.UnixMilli() || parts["t"] != SimpleOrToken && parts["t"] != Simple || !isUserName(parts["u"]) {
		return ""
	}
	return parts["u"]
}
