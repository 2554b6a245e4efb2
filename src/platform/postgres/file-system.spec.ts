import { fileSystemProblem } from './file-system.js';

/** Numbers as `stat -f -c %t` prints them. */
it.each([
  ['ext4', 0xef53, undefined],
  ['overlay', 0x794c7630, undefined],
  ['xfs', 0x58465342, undefined],
  ['tmpfs', 0x01021994, undefined],
  ['nfs', 0x6969, { name: 'NFS', isNetwork: true }],
  ['cifs', 0xff534d42, { name: 'SMB', isNetwork: true }],
  ['smb2', 0xfe534d42, { name: 'SMB', isNetwork: true }],
  ['ceph', 0x00c36400, { name: 'CephFS', isNetwork: true }],
  ['fuse', 0x65735546, { name: 'FUSE', isNetwork: false }],
  ['9p', 0x01021997, { name: '9p', isNetwork: false }],
])('a data folder on %s', (_, type, problem) => {
  expect(fileSystemProblem(type)).toEqual(problem);
});
