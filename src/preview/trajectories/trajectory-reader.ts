import { isUtf8 } from 'node:buffer';
import { v7 as uuidv7 } from 'uuid';
import { ApiError, invalidRequest, type Violation } from '../../common/errors.js';
import { hasOpaqueEscapes } from '../../common/json-text.js';
import { parseLight } from '../../common/json-weight.js';
import { BodyCutter } from './body-chunks.js';
import { ByteBuffer } from '../../common/byte-buffer.js';
import { JsonScanner, NotJson, type ScanListener } from '../../common/json-scanner.js';
import { LogMetrics } from './log-metrics.js';
import {
  type Group,
  groupViolation,
  type Trajectory,
  trajectoryViolation,
} from '../trajectory-rules.js';

/** What is stored of a trajectory for queries. */
export interface TrajectoryRow {
  id: string;
  groupIndex: number;
  trajectoryIndex: number;
  reward: number | null;
  startTime: string;
  /** Sampled tokens: the entries of the logprobs of its choices. */
  numTokens: number;
  isOpaque: boolean;
  /** The JSON text as it was sent, without logprobs, and with the defaults of absent fields. */
  document: string;
}

/** A trajectory is parsed in one go, without its logprobs: this keeps it short. */
const MAX_TRAJECTORY_BYTES = 32 * 1024 * 1024;
/** And so does this, since a short text may hold millions of values. */
const MAX_TRAJECTORY_VALUES = 200_000;
/** The same for what a group holds beside its trajectories, and for the members of the body. */
const MAX_MEMBER_BYTES = 4 * 1024 * 1024;

/** Members of the body that are understood beside its groups; others are kept with the body only. */
const MEMBERS = ['model_id', 'split', 'experimental_config'];

/** The containers that are gone into: the way to the logprobs. */
type Kind =
  | 'body'
  | 'groups'
  | 'group'
  | 'trajectories'
  | 'trajectory'
  | 'histories'
  | 'history'
  | 'exchanges'
  | 'chats'
  | 'chat'
  | 'response'
  | 'turns'
  | 'turn'
  | 'logprobs'
  | 'tokens';

const INSIDE = new Map<string, Kind>([
  ['body.trajectory_groups', 'groups'],
  ['groups.*', 'group'],
  ['group.trajectories', 'trajectories'],
  ['trajectories.*', 'trajectory'],
  ['trajectory.messages_and_choices', 'turns'],
  ['trajectory.additional_histories', 'histories'],
  ['histories.*', 'history'],
  ['history.messages_and_choices', 'turns'],
  ['trajectory.exchanges', 'exchanges'],
  ['exchanges.chat_completions', 'chats'],
  ['chats.*', 'chat'],
  ['chat.response', 'response'],
  ['response.choices', 'turns'],
  ['turns.*', 'turn'],
  ['turn.logprobs', 'logprobs'],
  ['logprobs.content', 'tokens'],
]);
const LISTS = new Set<Kind>(['groups', 'trajectories', 'histories', 'chats', 'turns', 'tokens']);
/** These are refused at once when they are of another type; the others are judged when their text is parsed. */
const TYPED = new Set<Kind>(['groups', 'group', 'trajectory']);

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const COMMA = 0x2c;
const SPACE = 0x20;
const EMPTY_LIST = Buffer.from('[]');
const NOTHING = Buffer.alloc(0);

/**
 * Reads the body of `log` and of a training job as it comes, in one pass: cuts it into chunks to keep, takes out the
 * small members, and makes a row of each trajectory when it has ended. Of a repeated key the last one counts, as in
 * `JSON.parse`. Memory is one trajectory without its logprobs, and what the caller has not taken yet.
 */
export class TrajectoryReader implements ScanListener {
  /** The small members, parsed, and their text. */
  readonly members = new Map<string, { value: unknown; text: string }>();
  readonly cutter = new BodyCutter();
  /** Rows that were not taken yet, and the length of their documents. */
  rows: TrajectoryRow[] = [];
  rowBytes = 0;
  /** Groups whose rows a repeated key took back; null for all there were. */
  private repealed: (number | null)[] = [];
  hasGroups = false;
  metrics = new LogMetrics();

  private readonly scanner = new JsonScanner(this);
  private readonly path: Kind[] = [];
  private name = '';
  private chunk: Buffer = NOTHING;
  private utf8Rest: Buffer = NOTHING;

  /** What is captured of the chunk goes here, from `captureStart` on. */
  private capture: ByteBuffer | null = null;
  private captureStart = 0;
  private readonly member = new ByteBuffer();
  /** A group with an empty list in place of its trajectories. */
  private readonly shell = new ByteBuffer();
  private readonly trajectory = new ByteBuffer();
  /** The trajectory up to a first member that was left out: a comma that follows has to go too. Else -1. */
  private lengthBeforeComma = -1;

  /** Up to here the chunk was given to the cutter. */
  private cutEnd = 0;
  private groupIndex = -1;
  private trajectoryIndex = -1;
  private groupTrajectories: Pick<Trajectory, 'reward' | 'metrics'>[] | null = null;
  private numTokens = 0;
  /** The scanner's count of values when the trajectory began; what its logprobs add is taken out. */
  private valuesBefore = 0;
  private valuesBeforeLogprobs = 0;

  constructor(private readonly receivedAt: string) {}

  /** @throws ApiError when the body is no JSON, or a value is not what its field takes. */
  write(chunk: Buffer): void {
    this.checkUtf8(chunk);
    this.chunk = chunk;
    this.captureStart = 0;
    this.cutEnd = 0;
    asApiError(() => this.scanner.write(chunk));
    this.captureUpTo(chunk.length);
    this.cutUpTo(chunk.length);
  }

  end(): void {
    asApiError(() => this.scanner.end());
    if (this.utf8Rest.length > 0) throw notUtf8();
    this.cutter.cut();
  }

  /** Bytes of texts that are to be parsed when they are complete. */
  get heldBytes(): number {
    return this.trajectory.length + this.shell.length + this.member.length;
  }

  /** What is ready to be stored: first the repeals, which are of rows taken before. */
  take() {
    const { rows, repealed } = this;
    const { chunks } = this.cutter;
    [this.rows, this.repealed, this.cutter.chunks] = [[], [], []];
    this.rowBytes = 0;
    return { chunks, rows, repealed };
  }

  key(key: string, end: number, length: number): void {
    this.name = key;
    if (this.path.at(-1) !== 'turn') return;
    if (this.lengthBeforeComma >= 0) this.dropComma(end);
    if (key === 'logprobs') this.leaveOut(end, length);
  }

  valueStart(at: number, firstByte: number): void {
    const parent = this.path.at(-1);
    if (parent === 'tokens') {
      this.numTokens++;
      return;
    }
    const kind = parent ? INSIDE.get(`${parent}.${LISTS.has(parent) ? '*' : this.name}`) : 'body';
    if (kind && firstByte === (LISTS.has(kind) ? OPEN_BRACKET : OPEN_BRACE)) {
      this.path.push(kind);
      this.scanner.watch = this.path.length;
      this.enter(kind, at);
    } else if (kind && (TYPED.has(kind) || kind === 'body')) throw this.wrongType(kind);
    else if (parent === 'body' && MEMBERS.includes(this.name)) this.captureInto(this.member, at);
  }

  valueEnd(end: number, depth: number): void {
    if (depth < this.path.length) {
      this.scanner.watch = this.path.length - 1;
      this.leave(this.path.pop()!, end);
    } else if (this.capture === this.member) {
      const text = this.captured(end);
      this.members.set(this.name, { text, value: parseLight(text) });
    } else if (!this.capture && this.path.at(-1) === 'turn') this.captureOn(this.trajectory, end);
  }

  private enter(kind: Kind, at: number): void {
    if (kind === 'groups') {
      if (this.hasGroups) this.repealAll();
      this.hasGroups = true;
    } else if (kind === 'group') {
      this.groupIndex++;
      this.groupTrajectories = null;
      this.cutUpTo(at, false);
      this.captureInto(this.shell, at);
    } else if (kind === 'trajectories') {
      if (this.groupTrajectories) this.repealGroup();
      this.groupTrajectories = [];
      this.trajectoryIndex = -1;
      this.captureUpTo(at);
      this.shell.append(EMPTY_LIST);
      this.capture = null;
    } else if (kind === 'trajectory') {
      this.trajectoryIndex++;
      this.numTokens = 0;
      this.valuesBefore = this.scanner.values;
      this.captureInto(this.trajectory, at);
    } else if (kind === 'logprobs') this.valuesBeforeLogprobs = this.scanner.values;
  }

  private leave(kind: Kind, end: number): void {
    if (kind === 'trajectory') this.endTrajectory(this.captured(end));
    else if (kind === 'trajectories') this.captureOn(this.shell, end);
    else if (kind === 'logprobs') {
      this.valuesBefore += this.scanner.values - this.valuesBeforeLogprobs;
      this.captureOn(this.trajectory, end);
    } else if (kind === 'turn') this.lengthBeforeComma = -1;
    else if (kind === 'group') {
      this.endGroup(this.captured(end));
      this.cutUpTo(end, true);
      this.cutter.endLine();
    }
  }

  private endTrajectory(text: string): void {
    const { groupIndex, trajectoryIndex, numTokens, receivedAt } = this;
    const place = `trajectory_groups[${groupIndex}].trajectories[${trajectoryIndex}]`;
    const trajectory = parseLight(text) as Trajectory;
    refuse(trajectoryViolation(trajectory, place));
    const { reward = 0, start_time, metrics } = trajectory;
    this.groupTrajectories!.push({ reward, metrics });
    const document = withDefaults(text, trajectory, receivedAt);
    this.rowBytes += document.length;
    this.rows.push({
      id: uuidv7(),
      groupIndex,
      trajectoryIndex,
      reward,
      startTime: start_time ?? receivedAt,
      numTokens,
      isOpaque: hasOpaqueEscapes(text),
      document,
    });
  }

  private endGroup(text: string): void {
    const group = parseLight(text) as Group;
    refuse(groupViolation(group, `trajectory_groups[${this.groupIndex}]`));
    this.metrics.add(group, this.groupTrajectories ?? []);
  }

  private repealAll(): void {
    this.cutter.repeal();
    this.metrics = new LogMetrics();
    this.groupIndex = -1;
    this.rows = [];
    this.repealed = [null];
  }

  private repealGroup(): void {
    this.rows = this.rows.filter(({ groupIndex }) => groupIndex !== this.groupIndex);
    this.repealed.push(this.groupIndex);
  }

  /** Takes the key that just ended out of the trajectory; its value is not captured. */
  private leaveOut(end: number, length: number): void {
    this.captureUpTo(end);
    this.capture = null;
    const { bytes } = this.trajectory;
    let last = bytes.length - length - 1;
    while (bytes[last]! <= SPACE) last--;
    const isFirst = bytes[last] !== COMMA;
    this.trajectory.length = isFirst ? last + 1 : last;
    this.lengthBeforeComma = isFirst ? this.trajectory.length : -1;
  }

  /** The member before this key was the first one, and was left out: the comma between them goes too. */
  private dropComma(end: number): void {
    this.captureUpTo(end);
    const { bytes } = this.trajectory;
    bytes[bytes.indexOf(COMMA, this.lengthBeforeComma)] = SPACE;
    this.lengthBeforeComma = -1;
  }

  // the chunk under way: what is captured of it, what was cut off it

  private captureInto(target: ByteBuffer, at: number): void {
    this.captureUpTo(at);
    target.clear();
    this.captureOn(target, at);
  }

  private captureOn(target: ByteBuffer, at: number): void {
    this.capture = target;
    this.captureStart = at;
  }

  private captureUpTo(end: number): void {
    if (!this.capture) return;
    const limit = this.capture === this.trajectory ? MAX_TRAJECTORY_BYTES : MAX_MEMBER_BYTES;
    if (this.capture.length + end - this.captureStart > limit) throw this.tooLarge(limit);
    if (this.capture === this.trajectory && this.valuesOfTrajectory > MAX_TRAJECTORY_VALUES)
      throw this.tooLarge(MAX_TRAJECTORY_VALUES, 'values');
    this.capture.append(this.chunk.subarray(this.captureStart, end));
    this.captureStart = end;
  }

  private get valuesOfTrajectory(): number {
    return this.scanner.values - this.valuesBefore;
  }

  private captured(end: number): string {
    this.captureUpTo(end);
    const text = this.capture!.bytes.toString('utf8');
    this.capture!.clear();
    this.capture = null;
    return text;
  }

  private cutUpTo(end: number, isGroup = this.path.includes('group')): void {
    const bytes = this.chunk.subarray(this.cutEnd, end);
    if (isGroup) this.cutter.group(bytes);
    else this.cutter.frame(bytes);
    this.cutEnd = end;
  }

  /** A character may be split between chunks: its first bytes wait for the rest. */
  private checkUtf8(chunk: Buffer): void {
    const bytes = this.utf8Rest.length > 0 ? Buffer.concat([this.utf8Rest, chunk]) : chunk;
    const whole = wholeCharacters(bytes);
    if (!isUtf8(bytes.subarray(0, whole))) throw notUtf8();
    this.utf8Rest = Buffer.from(bytes.subarray(whole));
  }

  private wrongType(kind: Kind): ApiError {
    const { groupIndex, trajectoryIndex } = this;
    if (kind === 'body') return invalidRequest([{ path: '', message: 'must be an object' }]);
    if (kind === 'groups')
      return invalidRequest([{ path: 'trajectory_groups', message: 'must be an array' }]);
    const path =
      kind === 'group'
        ? `trajectory_groups[${groupIndex + 1}]`
        : `trajectory_groups[${groupIndex}].trajectories[${trajectoryIndex + 1}]`;
    return invalidRequest([{ path, message: 'must be an object' }]);
  }

  private tooLarge(limit: number, unit = 'bytes'): ApiError {
    const { capture, groupIndex, trajectoryIndex } = this;
    const what =
      capture === this.trajectory
        ? `trajectory_groups[${groupIndex}].trajectories[${trajectoryIndex}] without its logprobs`
        : capture === this.shell
          ? `trajectory_groups[${groupIndex}] without its trajectories`
          : this.name;
    return new ApiError('too_large', `${what} is over the limit of ${limit} ${unit}`);
  }
}

function withDefaults(text: string, trajectory: Trajectory, receivedAt: string): string {
  const defaults: Required<Omit<Trajectory, 'exchanges'>> = {
    messages_and_choices: [],
    reward: 0,
    tools: null,
    additional_histories: [],
    metrics: {},
    metadata: {},
    logs: [],
    start_time: receivedAt,
  };
  const absent = Object.entries(defaults).filter(([name]) => !Object.hasOwn(trajectory, name));
  if (absent.length === 0) return text;
  const comma = Object.keys(trajectory).length > 0 ? ',' : '';
  return `${text.slice(0, -1)}${comma}${JSON.stringify(Object.fromEntries(absent)).slice(1)}`;
}

/** The length of the bytes without a character that is not complete at their end. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

const notUtf8 = () => new ApiError('invalid_json', 'the body is not UTF-8');

function refuse(violation: Violation | undefined): void {
  if (violation) throw invalidRequest([violation]);
}

function asApiError(scan: () => void): void {
  try {
    scan();
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    throw new ApiError(
      'invalid_json',
      `the body is not valid JSON, at byte ${error.at} (NaN and Infinity are no JSON: send null)`,
    );
  }
}
