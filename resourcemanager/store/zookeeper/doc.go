// Package zookeeper is a state store in ZooKeeper, laid out as Hadoop's ZKRMStateStore
// of version 1.5: either ResourceManager goes on with what the other has left.
//
//	<parent>/ZKRMStateRoot
//	  RMVersionNode, EpochNode
//	  RMAppRoot/<application>/<attempt>
//	  RMAppRoot/HIERARCHIES/<1-4>/<application but for its end>/<end>/<attempt>
//	  RMDTSecretManagerRoot/RMDTSequentialNumber
//	  RMDTSecretManagerRoot/RMDTMasterKeysRoot/DelegationKey_<id>
//	  RMDTSecretManagerRoot/RMDelegationTokensRoot/RMDelegationToken_<number>
//	  RMDTSecretManagerRoot/RMDelegationTokensRoot/<1-4>/<name but for its end>/<end>
//	  AMRMTokenSecretManagerRoot
//	  ReservationSystemRoot/<plan>/<reservation>
//	  HeddleRoot/<table>/<name>        records that Hadoop does not have
//	  HeddleRoot/start-<random>        the mark of the last start of ours
//
// New nodes are put where the split index says; those of other indexes are found and
// changed where they are.
//
// A batch is one transaction, which also makes and removes RM_ZK_FENCING_LOCK below the
// root, as Hadoop's do, and checks that nobody has written EpochNode since it was loaded
// and that the mark of this start is there: an EpochNode of a store that was removed and
// begun anew may have the same version.
// So a ResourceManager of ours can change nothing more once another one, of either kind,
// has started on the store. Apache's does not look at the epoch: it is kept away by the
// access list of the root, which with high availability lets only who set it last make
// nodes there.
package zookeeper
