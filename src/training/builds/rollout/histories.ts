import { textsIn } from '../../../platform/json/json-text.js';
import type { LlmCall } from './llm-calls.js';
import type { Choice, PromptIds } from './recorded-call.js';
import { hashParts, type HistoryMessage } from './history-messages.js';

/** A conversation as a model received it: messages, and the choices to train. */
export interface History {
  tools: string | null;
  /** Messages and choices as JSON texts. */
  turns: string[];
  /** Hash that is equal for histories with the same content. */
  state: string;
  /** Tokens of the last call: its prompt and what it sampled. Null when they are not known. */
  tokens: number | null;
  trained: TrainedChoice[];
  /** Ids of the calls of the history. */
  calls: string[];
}

interface TrainedChoice {
  /** Index of the choice in `turns`. */
  at: number;
  call: string;
  /** JSON text of the message without the rest of the choice. */
  message: string;
  /** Number of sampled tokens. */
  sampled: number;
}

/**
 * Returns the history up to the last choice of the given calls, in which only these calls are trained. Returns null
 * when the history has none of them.
 */
export function creditedPart(history: History, calls: ReadonlySet<string>): History | null {
  const trained = history.trained.filter(({ call }) => calls.has(call));
  const last = trained.at(-1);
  if (!last) return null;
  const turns = history.turns.slice(0, last.at + 1);
  for (const { at, call, message } of history.trained)
    if (at < last.at && !calls.has(call)) turns[at] = message;
  return { ...history, turns, trained };
}

export interface HistoryProblem {
  code: 'tokens_not_prefix' | 'tool_call_orphan' | 'tool_args_reserialised';
  call: string;
}

/** The end of a history that a later call can continue. */
interface HistoryHead {
  history: History;
  /** All tokens that were sent and then sampled up to this point; null when they are not known. */
  tokenIds: { sent: number[]; sampled: number[] } | null;
  /** Ids of tool calls that are not answered yet. */
  open: Set<string>;
  /** Arguments of the tool calls of the last choice, as they were sampled. */
  sampled: (string | null)[];
}

/**
 * Joins the calls of one rollout, in the order in which they are added. A call extends a history when it has the same
 * tools, and its messages begin with that history. Any other call opens a history. States are hashes over hashes, so
 * that each message of a call is read once, however long its history is.
 */
export class Histories {
  readonly list: History[] = [];
  readonly oddities: HistoryProblem[] = [];
  private readonly heads = new Map<string, HistoryHead>();

  /** `isTrained` is false when the choices are only messages of the history. */
  add(call: LlmCall, isTrained: boolean): void {
    const states = hashStates(call);
    const { head, from } = this.findHead(call, states);
    if (head) this.heads.delete(states[from]!);
    const before = states.at(-1)!;
    const [first, ...others] = call.choices as [Choice, ...Choice[]];
    const main = head ?? opened(call);
    if (!head) this.list.push(main.history);
    this.append(main, call.messages.slice(from), call.id);
    // the other choices share the messages before them
    const forks = others.map((choice) => {
      const turns = call.messages.map(({ text }) => text);
      const history = { ...opened(call).history, turns, calls: [call.id] };
      const fork: HistoryHead = { ...main, history, open: new Set(main.open) };
      this.list.push(history);
      return [choice, fork] as const;
    });
    this.choose(main, call, { choice: first, isTrained, before });
    for (const [choice, fork] of forks) this.choose(fork, call, { choice, isTrained, before });
  }

  /** Finds the longest history that the call continues, and how many messages of the call are in it. */
  private findHead(call: LlmCall, states: string[]): { head: HistoryHead | null; from: number } {
    for (let from = states.length - 1; from > 0; from--) {
      const head = this.heads.get(states[from]!);
      if (!head) continue;
      if (isPrefix(head.tokenIds, call.promptTokenIds?.ids ?? null)) {
        this.compareArguments(head, call, from);
        return { head, from };
      }
      this.oddities.push({ code: 'tokens_not_prefix', call: call.id });
      break;
    }
    return { head: null, from: 0 };
  }

  /**
   * Notes arguments that the next request contains in another spelling: the model then did not see what it had
   * sampled.
   */
  private compareArguments({ sampled }: HistoryHead, call: LlmCall, from: number): void {
    const sent = call.messages[from - 1]!.toolArguments;
    if (!call.isReserialised && sampled.some((args, i) => args !== sent[i]))
      this.oddities.push({ code: 'tool_args_reserialised', call: call.id });
  }

  private append(head: HistoryHead, turns: HistoryMessage[], call: string): void {
    let isOrphan = false;
    for (const turn of turns) {
      isOrphan = answerToolCalls(head.open, turn) || isOrphan;
      head.history.turns.push(turn.text);
    }
    if (isOrphan || head.open.size > 0) this.oddities.push({ code: 'tool_call_orphan', call });
    head.open.clear();
    head.history.calls.push(call);
  }

  private choose(
    head: HistoryHead,
    call: LlmCall,
    { choice, isTrained, before }: { choice: Choice; isTrained: boolean; before: string },
  ): void {
    const { history } = head;
    if (isTrained)
      history.trained.push({
        at: history.turns.length,
        call: call.id,
        message: choice.turn.text,
        sampled: choice.logprobs?.length ?? choice.tokenIds?.length ?? 0,
      });
    history.turns.push(isTrained ? trainableText(choice, call.promptTokenIds) : choice.turn.text);
    history.state = nextState(before, choice.turn);
    history.tokens = countTokens(call, choice);
    for (const id of choice.turn.toolCalls) head.open.add(id);
    head.sampled = choice.turn.toolArguments;
    const sent = call.promptTokenIds?.ids;
    // all choices of a call share the list of sent tokens, which may have millions of entries
    head.tokenIds = sent && choice.tokenIds ? { sent, sampled: choice.tokenIds } : null;
    this.heads.set(history.state, head);
  }
}

/** Returns the choice with the tokens of its prompt. ART does not train a choice without them. */
function trainableText({ text, tokenIds }: Choice, prompt: PromptIds | null): string {
  if (!prompt || !tokenIds || textsIn(text, { prompt_token_ids: true })?.prompt_token_ids)
    return text;
  return `${text.slice(0, -1)},"prompt_token_ids":${prompt.text}}`;
}

/**
 * Removes the answered tool call from the open ones. Returns true when the message answers no open call, or leaves
 * one unanswered.
 */
function answerToolCalls(open: Set<string>, turn: HistoryMessage): boolean {
  if (turn.answers !== null) return !open.delete(turn.answers);
  const isLate = open.size > 0;
  open.clear();
  for (const id of turn.toolCalls) open.add(id);
  return isLate;
}

const opened = ({ tools }: LlmCall): HistoryHead => ({
  history: { tools, turns: [], state: '', tokens: null, trained: [], calls: [] },
  tokenIds: null,
  open: new Set(),
  sampled: [],
});

const nextState = (state: string, turn: HistoryMessage) => hashParts([state, turn.canonical]);

/** Returns the state before the messages of a call, and the state after each message. */
function hashStates({ toolsKey, messages }: LlmCall): string[] {
  const states = [hashParts([toolsKey])];
  for (const turn of messages) states.push(nextState(states.at(-1)!, turn));
  return states;
}

/** Returns true also when the tokens of one side are not known. */
function isPrefix(head: HistoryHead['tokenIds'], prompt: number[] | null): boolean {
  if (!head || !prompt) return true;
  const { sent, sampled } = head;
  return (
    sent.every((token, i) => token === prompt[i]) &&
    sampled.every((token, i) => token === prompt[sent.length + i])
  );
}

function countTokens(call: LlmCall, choice: Choice): number | null {
  const prompt = call.promptTokenIds?.ids.length ?? call.promptTokens;
  const sampled = choice.tokenIds?.length ?? choice.logprobs?.length ?? call.completionTokens;
  return prompt === null ? null : prompt + (sampled ?? 0);
}
