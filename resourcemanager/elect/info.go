package elect

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
)

// maxInfo bounds what the nodes of the election hold, in bytes.
const maxInfo = 4096

// encode is what a node of the election holds.
func encode(cluster, id string) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pb.ActiveRMInfo{ClusterId: &cluster, RmId: &id})
	if err != nil {
		panic(err) // two strings
	}
	return b
}

// decode reads a node of the election, which must be about this cluster.
func decode(data []byte, cluster string) (id string, err error) {
	m := &pb.ActiveRMInfo{}
	if len(data) > maxInfo {
		return "", fmt.Errorf("%d bytes, which is no ActiveRMInfo; remove it if no ResourceManager has it", len(data))
	}
	if err := proto.Unmarshal(data, m); err != nil || m.GetRmId() == "" {
		return "", fmt.Errorf("%q is no ActiveRMInfo; remove it if no ResourceManager has it", data)
	}
	if m.GetClusterId() != cluster {
		return "", fmt.Errorf("it is of cluster %q, and this ResourceManager is of cluster %q (yarn.resourcemanager.cluster-id)", m.GetClusterId(), cluster)
	}
	return m.GetRmId(), nil
}
