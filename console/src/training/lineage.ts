import type { Schema } from '../api/client.ts';

export type Edge = Schema<'LineageEdgeDto'>;
type Node = Edge['from'];

export interface Chain {
  calls: string[];
  feedback: string[];
  builds: string[];
  jobs: string[];
  checkpoints: Schema<'LineageCheckpointDto'>[];
  /** The calls that the checkpoints made. */
  made: string[];
}

/** The edges by what they lead to, each thing once: on the way from recorded calls to those of a checkpoint. */
export function makeChain(edges: readonly Edge[]): Chain {
  const sets = { call: new Set<string>(), feedback: new Set<string>(), made: new Set<string>() };
  const [builds, jobs] = [new Set<string>(), new Set<string>()];
  const checkpoints = new Map<string, Chain['checkpoints'][number]>();
  const take = (node: Node, isMade: boolean) => {
    if (node.type === 'checkpoint') checkpoints.set(`${node.model_id} ${node.step}`, node);
    else if (node.type === 'build') builds.add(node.id);
    else if (node.type === 'job') jobs.add(node.id);
    else sets[isMade ? 'made' : node.type].add(node.id);
  };
  for (const { from, to } of edges) {
    take(from, false);
    take(to, to.type === 'call');
  }
  return {
    calls: [...sets.call],
    feedback: [...sets.feedback],
    builds: [...builds],
    jobs: [...jobs],
    checkpoints: [...checkpoints.values()],
    made: [...sets.made],
  };
}
