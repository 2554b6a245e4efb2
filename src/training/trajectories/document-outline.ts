import { invalidRequest } from '../../platform/errors.js';
import { CODES } from '../../platform/json/json-grammar.js';

/** The containers on the way to the logprobs, keyed by `<parent>.<key>`; `*` is any item of a list. */
const INSIDE = {
  'body.trajectory_groups': 'groups',
  'groups.*': 'group',
  'group.trajectories': 'trajectories',
  'trajectories.*': 'trajectory',
  'trajectory.messages_and_choices': 'turns',
  'trajectory.additional_histories': 'histories',
  'histories.*': 'history',
  'history.messages_and_choices': 'turns',
  'trajectory.exchanges': 'exchanges',
  'exchanges.chat_completions': 'chats',
  'chats.*': 'chat',
  'chat.response': 'response',
  'response.choices': 'turns',
  'turns.*': 'turn',
  'turn.logprobs': 'logprobs',
  'logprobs.content': 'tokens',
} as const;
const KINDS = new Map<string, ContainerKind>(Object.entries(INSIDE));
export type ContainerKind = 'body' | (typeof INSIDE)[keyof typeof INSIDE];

const LISTS = new Set<ContainerKind>([
  'groups',
  'trajectories',
  'histories',
  'chats',
  'turns',
  'tokens',
]);
/** Containers whose type is checked when they begin. The others are checked when their text is parsed. */
const TYPED = new Set<ContainerKind>(['body', 'groups', 'group', 'trajectory']);

const { OPEN_BRACE, OPEN_BRACKET } = CODES;

/** Tracks the position of a reader in a body with trajectory groups. */
export class DocumentOutline {
  /** The innermost container; undefined outside of the body. */
  inner: ContainerKind | undefined;
  key = '';
  groupIndex = -1;
  trajectoryIndex = -1;
  private readonly path: ContainerKind[] = [];

  get depth(): number {
    return this.path.length;
  }

  /**
   * Handles the start of a value. Returns the container that begins with it, and undefined for any other value.
   * @throws ApiError `invalid_request` for a value that should be a container and is not
   */
  enter(firstByte: number): ContainerKind | undefined {
    const parent = this.inner;
    const kind = parent ? KINDS.get(`${parent}.${LISTS.has(parent) ? '*' : this.key}`) : 'body';
    if (!kind) return undefined;
    if (kind === 'groups') this.groupIndex = -1;
    if (kind === 'group') this.groupIndex++;
    if (kind === 'trajectories') this.trajectoryIndex = -1;
    if (kind === 'trajectory') this.trajectoryIndex++;
    const isList = LISTS.has(kind);
    if (firstByte === (isList ? OPEN_BRACKET : OPEN_BRACE)) {
      this.path.push(kind);
      return (this.inner = kind);
    }
    if (!TYPED.has(kind)) return undefined;
    const message = isList ? 'must be an array' : 'must be an object';
    throw invalidRequest([{ path: this.printPlace(kind), message }]);
  }

  leave(): ContainerKind {
    const kind = this.path.pop()!;
    this.inner = this.path.at(-1);
    return kind;
  }

  /** Returns the path of the current group or trajectory for error messages. */
  printPlace(kind: ContainerKind): string {
    if (kind === 'body') return '';
    if (kind === 'groups') return 'trajectory_groups';
    const group = `trajectory_groups[${this.groupIndex}]`;
    return kind === 'group' ? group : `${group}.trajectories[${this.trajectoryIndex}]`;
  }
}
