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
  /** The JSON text as it was sent, without logprobs and token ids, and with the defaults of absent fields. */
  document: string;
}

/** Members of the body that are understood beside its groups; others are not kept. */
const MEMBERS = ['model_id', 'split', 'experimental_config'];
/** Of such a member, and of what a group holds beside its trajectories. */
const MEMBER_LIMITS = { bytes: 4 * 1024 * 1024, values: Infinity };
const TRAJECTORY_LIMITS = { bytes: 32 * 1024 * 1024, values: 200_000 };
/** What the payload alone has: there is one for each token, or for each token of each prompt. */
const PAYLOAD_ONLY: Partial<Record<ContainerKind, readonly string[]>> = {
  turn: ['logprobs', 'prompt_token_ids', 'token_ids'],
  response: ['prompt_token_ids'],
};
/** Of the containers body, groups and group. */
const GROUP_DEPTH = 3;
const EMPTY_LIST = Buffer.from('[]');

/**
 * Reads the body of `log` and of a training job as it comes, in one pass: makes the payload of its groups, takes out the
 * small members, and makes a row of each trajectory when it has ended. Of a repeated key the last one counts, as in
 * `JSON.parse`. Memory is one trajectory without its logprobs and token ids, and what the caller has not taken yet.
 *
 *     state               captures     cuts    begins with                      ends with
 *     body
 *     ├─ member           member                                                `members`
 *     └─ groups                                repeal of all rows so far
 *        └─ group         shell        group                                    metrics, a line of the payload
 *           └─ trajectories            group   repeal of the group's rows
 *              └─ trajectory           group                                    a row
 *                 │       trajectory
 *                 └─ logprobs          group   their key is taken out           (tokens are counted)
 *
 * `DocumentOutline` knows where the reader is, `CapturedText` keeps bytes that are to be parsed, `PayloadCutter` those of groups.
 */
export class TrajectoryReader implements ScanListener {
  /** The small members, parsed, and their text. */
  readonly members = new Map<string, { value: unknown; text: string }>();
  readonly cutter = new PayloadCutter();
  /** Rows that were not taken yet, and the length of their documents. */
  rows: TrajectoryRow[] = [];
  rowBytes = 0;
  /** Groups whose rows a repeated key took back; null for all there were. */
  private repealed: (number | null)[] = [];
  hasGroups = false;
  metrics = new LogMetrics();

  private readonly utf8 = new Utf8Check();
  private readonly scanner = new JsonScanner(this);
  private readonly outline = new DocumentOutline();

  private readonly member = new CapturedText(MEMBER_LIMITS, this.scanner, () => this.outline.key);
  /** A group with an empty list in place of its trajectories. */
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

  /** What the metrics need of the trajectories of the group under way; null before it has any. */
  private groupTrajectories: CheckedTrajectory[] | null = null;
  private numTokens = 0;
  private chunk: Buffer = Buffer.alloc(0);
  /** Up to here the chunk was given to the cutter. */
  private cutEnd = 0;

  constructor(private readonly receivedAt: string) {}

  /** @throws ApiError when the body is no JSON, or a value is not what its field takes. */
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

  /** Bytes of texts that are to be parsed when they are complete. */
  get heldBytes(): number {
    return this.trajectory.length + this.shell.length + this.member.length;
  }

  /** What is ready to be stored: first the repeals, which are of rows taken before. */
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

  /** A key came again: the rows of a group do not count, or nothing so far does. */
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
      `the body is not valid JSON, at byte ${error.at} (NaN and Infinity are no JSON: send null)`,
    );
  }
}
