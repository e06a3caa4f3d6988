// Package filesystem is a state store in a directory of this machine or of HDFS, laid
// out as Hadoop's FileSystemRMStateStore of version 1.3: either ResourceManager goes on
// with what the other has left.
//
//	<directory>/FSRMStateRoot
//	  RMVersionNode, EpochNode
//	  RMAppRoot/<application>/<application>, <attempt>…
//	  RMDTSecretManagerRoot/DelegationKey_<id>, RMDelegationToken_<number>
//	  RMDTSecretManagerRoot/RMDTSequenceNumber_<number>    empty: its name is what it says
//	  AMRMTokenSecretManagerRoot/AMRMTokenSecretManagerNode
//	  ReservationSystemRoot/<plan>/<reservation>
//	  HeddleRoot/<table>/<name>                            records that Hadoop does not have
//	  HeddleRoot/start-<random>                            empty: the mark of the last start of ours
//	  HeddleRoot/journal-<random>, lock
//	  HeddleRoot/removed-<application>                     its directory, about to be removed
//
// A file is written under another name, made durable and renamed. A batch of more than
// one change is in the journal before the first of them is made, so that the next start
// carries it out as a whole. A journal of an earlier start than the last one is not
// carried out: another ResourceManager has been here since.
//
// On this machine the lock keeps a second ResourceManager of ours away. Otherwise nothing
// but the epoch and the mark, which are compared before each batch, and on HDFS before
// each of its steps, tells that another one has taken over; Hadoop's counts the epoch alone.
package filesystem
