package nodemanager

import (
	"fmt"

	"github.com/heddle-project/heddle/nodemanager/shuffle"
	"github.com/heddle-project/heddle/yarn"
)

// services are the auxiliary services that run here: the shuffle, under the name that the configuration gives it.
type services struct {
	shuffle *shuffle.Server // nil if it is not configured
	name    string
}

// Metadata implements container.Services.
func (s *services) Metadata() map[string][]byte {
	if s.shuffle == nil {
		return nil
	}
	return map[string][]byte{s.name: s.shuffle.Metadata()}
}

// Data implements container.Services.
func (s *services) Data(app yarn.ApplicationID, user, service string, data []byte) error {
	if s.shuffle == nil || service != s.name {
		return fmt.Errorf("the auxiliary service %s does not run on this node", service)
	}
	return s.shuffle.InitApplication(app, user, data)
}

// stop tells the services that an application has ended.
func (s *services) stop(app yarn.ApplicationID) error {
	if s.shuffle == nil {
		return nil
	}
	return s.shuffle.StopApplication(app)
}
