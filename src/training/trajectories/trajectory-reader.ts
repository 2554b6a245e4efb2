import { v7 as uuidv7 } from 'uuid';
import { ApiError, invalidRequest, type Violation } from '../../platform/errors.js';
import { JsonScanner, NotJson, type ScanListener } from '../../platform/json/json-scanner.js';
import { hasOpaqueEscapes } from '../../platform/json/json-grammar.js';
import { parseBounded } from '../../platform/json/json-weight.js';
import { Utf8Check } from '../../platform/http/utf8-check.js';
import {
  DEFAULTS,
  type CheckedGroup,
  type CheckedTrajectory,
  findViolation,
} from '../trajectory-rules.js';
import { CapturedText } from './captured-text.js';
import { DocumentOutline, type ContainerKind } from './document-outline.js';
import { LogMetrics } from './log-metrics.js';
import { PayloadCutter } from '../payload-cutter.js';

export interface TrajectoryRow {
  id: string;
  groupIndex: number;
  trajectoryIndex: number;
  reward: number | null;
  startTime: string;
  /** Number of sampled tokens: the entries of the logprobs of its choices. */
  numTokens: number;
  isOpaque: boolean;
  /** The JSON text as it was sent, without logprobs and token ids, and with the defaults of absent fields. */
  document: string;
}

/** Members of the body that are kept besides the groups. */
const MEMBERS = ['model_id', 'split', 'experimental_config'];
/** Limits of one of these members, and of a group without its trajectories. */
const MEMBER_LIMITS = { bytes: 4 * 1024 * 1024, values: Infinity };
const TRAJECTORY_LIMITS = { bytes: 32 * 1024 * 1024, values: 200_000 };
/** Members that only the payload keeps: they have one entry for each token, or for each token of each prompt. */
const PAYLOAD_ONLY: Partial<Record<ContainerKind, readonly string[]>> = {
  turn: ['logprobs', 'prompt_token_ids', 'token_ids'],
  response: ['prompt_token_ids'],
};
/** Depth of the containers body, groups and group. */
const GROUP_DEPTH = 3;
const EMPTY_LIST = Buffer.from('[]');

/**
 * Reads the body of `log` and of a training job while it arrives, in one pass. Makes the payload of the groups,
 * collects the small members, and makes a row of each trajectory. The last of repeated keys counts, as in
 * `JSON.parse`. Memory: one trajectory without its logprobs and token ids, and the output that the caller has not
 * taken yet.
 *
 * `DocumentOutline` tracks the position, `CapturedText` keeps bytes that are parsed later, and `PayloadCutter` keeps
 * the bytes of groups. The containers of the body, from the outside to the inside:
 *
 * - A member of the body is captured as `member`, and stored in `members` at its end.
 * - `groups`: when the key is repeated, all rows so far are repealed.
 * - `group`: its bytes are cut for the payload, and it is captured as `shell` without its trajectories. At its end,
 *   its metrics are added, and a line of the payload ends.
 * - `trajectories`: when the key is repeated, the rows of the group are repealed.
 * - `trajectory`: it is captured as `trajectory`, and becomes a row at its end.
 * - `logprobs`: their key is removed from the captured text, and their tokens are counted.
 */
export class TrajectoryReader implements ScanListener {
  /** The small members of the body: the parsed value and its text. */
  readonly members = new Map<string, { value: unknown; text: string }>();
  readonly cutter = new PayloadCutter();
  /** Rows that the caller has not taken yet; `rowBytes` is the length of their documents. */
  rows: TrajectoryRow[] = [];
  rowBytes = 0;
  /** Groups whose rows a repeated key has repealed; null stands for all groups so far. */
  private repealed: (number | null)[] = [];
  hasGroups = false;
  metrics = new LogMetrics();

  private readonly utf8 = new Utf8Check();
  private readonly scanner = new JsonScanner(this);
  private readonly outline = new DocumentOutline();

  private readonly member = new CapturedText(MEMBER_LIMITS, this.scanner, () => this.outline.key);
  /** The current group, with an empty list in place of its trajectories. */
  private readonly shell = new CapturedText(
    MEMBER_LIMITS,
    this.scanner,
    () => `${this.outline.printPlace('group')} without its trajectories`,
  );
  private readonly trajectory = new CapturedText(
    TRAJECTORY_LIMITS,
    this.scanner,
    () => `${this.outline.printPlace('trajectory')} without its logprobs and token ids`,
  );
  private readonly captured = [this.member, this.shell, this.trajectory];

  /** Values of the current group's trajectories for the metrics; null before its list of trajectories. */
  private groupTrajectories: CheckedTrajectory[] | null = null;
  private numTokens = 0;
  private chunk: Buffer = Buffer.alloc(0);
  /** End of the bytes of the chunk that the cutter was given. */
  private cutEnd = 0;

  constructor(private readonly receivedAt: string) {}

  /** @throws ApiError when the body is not JSON, or a value has a wrong type */
  write(chunk: Buffer): void {
    this.utf8.write(chunk);
    this.chunk = chunk;
    this.cutEnd = 0;
    for (const text of this.captured) text.beginChunk(chunk);
    asApiError(() => this.scanner.write(chunk));
    for (const text of this.captured) text.endChunk();
    this.cutUpTo(chunk.length, this.outline.depth >= GROUP_DEPTH);
  }

  end(): void {
    asApiError(() => this.scanner.end());
    this.utf8.end();
    this.cutter.cut();
  }

  /** Bytes of incomplete texts that are parsed at their end. */
  get heldBytes(): number {
    return this.trajectory.length + this.shell.length + this.member.length;
  }

  /** Returns what can be stored. Repeals concern rows that were taken before, so the caller applies them first. */
  take() {
    const { rows, repealed, cutter } = this;
    const { chunks } = cutter;
    [this.rows, this.rowBytes, this.repealed, cutter.chunks] = [[], 0, [], []];
    return { chunks, rows, repealed };
  }

  key(key: string, end: number, length: number): void {
    this.outline.key = key;
    const leftOut = PAYLOAD_ONLY[this.outline.inner!];
    if (!leftOut) return;
    this.trajectory.dropComma(end);
    if (leftOut.includes(key)) this.trajectory.leaveOut(end, length);
  }

  valueStart(at: number, firstByte: number): void {
    const { outline } = this;
    const parent = outline.inner;
    if (parent === 'tokens') {
      this.numTokens++;
      return;
    }
    const kind = outline.enter(firstByte);
    if (kind) {
      this.scanner.watch = outline.depth;
      this.begin(kind, at);
    } else if (parent === 'body' && MEMBERS.includes(outline.key)) this.member.begin(at);
  }

  valueEnd(end: number, depth: number): void {
    const { outline } = this;
    if (depth < outline.depth) {
      this.finish(outline.leave(), end);
      this.scanner.watch = outline.depth;
    } else if (this.member.isCapturing) {
      const text = this.member.end(end);
      this.members.set(outline.key, { text, value: parseBounded(text) });
    }
    if (PAYLOAD_ONLY[outline.inner!] && !this.trajectory.isCapturing) this.trajectory.resume(end);
  }

  private begin(kind: ContainerKind, at: number): void {
    if (kind === 'groups') {
      if (this.hasGroups) this.repeal(null);
      this.hasGroups = true;
    } else if (kind === 'group') {
      this.groupTrajectories = null;
      this.cutUpTo(at, false);
      this.shell.begin(at);
    } else if (kind === 'trajectories') {
      if (this.groupTrajectories) this.repeal(this.outline.groupIndex);
      this.groupTrajectories = [];
      this.shell.pause(at, EMPTY_LIST);
    } else if (kind === 'trajectory') {
      this.numTokens = 0;
      this.trajectory.begin(at);
    }
  }

  private finish(kind: ContainerKind, end: number): void {
    if (PAYLOAD_ONLY[kind]) this.trajectory.endObject();
    else if (kind === 'trajectory') this.addRow(this.trajectory.end(end));
    else if (kind === 'trajectories') this.shell.resume(end);
    else if (kind === 'group') {
      const group = parseBounded(this.shell.end(end)) as CheckedGroup;
      refuse(findViolation('TrajectoryGroupDto', group, this.outline.printPlace('group')));
      this.metrics.add(group, this.groupTrajectories ?? []);
      this.cutUpTo(end, true);
      this.cutter.endLine();
    }
  }

  private addRow(text: string): void {
    const { outline, receivedAt } = this;
    const trajectory = parseBounded(text) as CheckedTrajectory;
    refuse(findViolation('TrajectoryDto', trajectory, outline.printPlace('trajectory')));
    const { reward = 0, start_time, metrics } = trajectory;
    this.groupTrajectories!.push({ reward, metrics });
    const document = withDefaults(text, trajectory, receivedAt);
    this.rowBytes += document.length;
    this.rows.push({
      id: uuidv7(),
      groupIndex: outline.groupIndex,
      trajectoryIndex: outline.trajectoryIndex,
      reward,
      startTime: start_time ?? receivedAt,
      numTokens: this.numTokens,
      isOpaque: hasOpaqueEscapes(text),
      document,
    });
  }

  /** Handles a repeated key: discards the rows of a group, or all groups so far. */
  private repeal(group: number | null): void {
    this.rows = this.rows.filter(({ groupIndex }) => group !== null && groupIndex !== group);
    this.repealed.push(group);
    if (group !== null) return;
    this.cutter.repeal();
    this.metrics = new LogMetrics();
  }

  private cutUpTo(end: number, isGroup: boolean): void {
    const bytes = this.chunk.subarray(this.cutEnd, end);
    if (isGroup) this.cutter.addGroup(bytes);
    this.cutEnd = end;
  }
}

function withDefaults(text: string, trajectory: CheckedTrajectory, receivedAt: string): string {
  const absent = [...DEFAULTS, ['start_time', receivedAt] as const].filter(
    ([name]) => !Object.hasOwn(trajectory, name),
  );
  if (absent.length === 0) return text;
  const comma = Object.keys(trajectory).length > 0 ? ',' : '';
  return `${text.slice(0, -1)}${comma}${JSON.stringify(Object.fromEntries(absent)).slice(1)}`;
}

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
      `the body is not valid JSON, at byte ${error.at} (NaN and Infinity are not JSON: send null)`,
    );
  }
}
