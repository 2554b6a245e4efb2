import { statfsSync } from 'node:fs';

/**
 * File systems on which another machine can open the same folder. Its lock may be invisible here, or end with a lost
 * network.
 */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'SMB'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'CephFS'],
  [0x0bd00bd0, 'Lustre'],
]);
/** File systems that may relay to a local disk or to a network. Their type does not show which. */
const RELAYS = new Map([
  [0x65735546, 'FUSE'],
  [0x01021997, '9p'],
]);

/**
 * Returns the problem of a data folder on a file system of this type (statfs(2) `f_type`). Undefined when it is local.
 */
export function fileSystemProblem(type: number): { name: string; isNetwork: boolean } | undefined {
  const network = NETWORK_FILE_SYSTEMS.get(type);
  const name = network ?? RELAYS.get(type);
  return name === undefined ? undefined : { name, isNetwork: network !== undefined };
}

/** Refuses a folder that other machines can open too. Only Linux reports the type as a fixed number. */
export function assertLocal(folder: string, warn: (line: string) => void): void {
  if (process.platform !== 'linux') return;
  const problem = fileSystemProblem(statfsSync(folder).type);
  if (problem?.isNetwork) {
    throw new Error(
      `${folder} is on a network file system (${problem.name}), where another machine could use it at the same time: ` +
        'set DATA_DIR to a folder on a local disk, or set DATABASE_URL',
    );
  }
  if (problem) {
    warn(
      `${folder} is on a ${problem.name} file system: make sure that no other machine uses the folder, its lock may not be seen there`,
    );
  }
}
