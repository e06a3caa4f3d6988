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
//	  HeddleRoot/start-<random>                            the mark of the last start of ours: an empty file, on HDFS a directory
//	  HeddleRoot/journal-<random>, lock
//	  HeddleRoot/removed-<application>                     its directory, about to be removed
//
// A file is written under another name, made durable and renamed. On HDFS that name is in the directory of the start, and what
// is removed goes there first: a next start takes the directory away, and with it every step that an earlier one may still make. A batch of more than
// one change is in the journal before the first of them is made, so that the next start
// carries it out as a whole. If another ResourceManager
// has used the store since, the journal is not carried out. On HDFS the ResourceManager that wrote the journal may still run, so
// a start first counts the epoch up, which stops the other one, and only then carries the journal out.
//
// On this machine the lock keeps a second ResourceManager of ours away. Otherwise the epoch and
// the mark, which are compared before each batch, and on HDFS before each of its steps and of those of a load that has
// read the epoch, tell that another one has taken over; Hadoop's counts the epoch alone, and may come in between.
package filesystem
