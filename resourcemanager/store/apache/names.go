package apache

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/state"
)

// Names of nodes and directories that are the same in Hadoop's ZooKeeper and file system stores.
const (
	Version         = "RMVersionNode"
	Epoch           = "EpochNode"
	Applications    = "RMAppRoot"
	Delegation      = "RMDTSecretManagerRoot"
	AMRM            = "AMRMTokenSecretManagerRoot"
	Reservations    = "ReservationSystemRoot"
	ProxyCA         = "ProxyCARoot"
	KeyPrefix       = "DelegationKey_"
	TokenPrefix     = "RMDelegationToken_"
	AppPrefix       = "application_"
	AttemptIDPrefix = "appattempt_"

	// OwnRoot is where our own records are; Hadoop passes over it.
	OwnRoot = "HeddleRoot"
)

// OwnName is a record's name as that of a node or a file.
func OwnName(k state.Key) string { return url.PathEscape(k.Name) }

// OwnKey is the key of one of our own records.
func OwnKey(table, name string) (state.Key, bool) {
	plain, err := url.PathUnescape(name)
	k := state.Key{Table: state.Table(table), Name: plain}
	return k, err == nil && Own(k.Table)
}

// Numbered reads the number behind a prefix, and tells the record's name.
func Numbered(name, prefix string) (string, error) {
	digits, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.ParseInt(digits, 10, 32)
	if !ok || err != nil {
		return "", fmt.Errorf("%q is not %s and a number", name, prefix)
	}
	return strconv.FormatInt(n, 10), nil
}

// DelegationRecord is the record of a delegation key or token with that name. An error is the reason to quarantine it.
func DelegationRecord(name string) (key state.Key, holds bool, err error) {
	for prefix, table := range map[string]state.Table{KeyPrefix: state.DelegationKeys, TokenPrefix: state.DelegationTokens} {
		if strings.HasPrefix(name, prefix) {
			number, err := Numbered(name, prefix)
			if err != nil {
				number = name
			}
			return state.Key{Table: table, Name: number}, true, err
		}
	}
	return key, false, nil
}
