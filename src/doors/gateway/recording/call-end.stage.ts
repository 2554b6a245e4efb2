import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { isObject } from '../../../platform/json/json-object.js';
import { memberTexts, objectText, textsIn } from '../../../platform/json/json-text.js';
import { logger } from '../../../platform/process/logger.js';
import { registerCounter } from '../../../platform/process/metrics.js';
import { BudgetsService } from '../admission/budgets.service.js';
import {
  type ExchangeOutcome,
  type GatewayExchange,
  isRecordRequired,
} from '../gateway-exchange.js';
import { ADAPTERS } from '../providers/adapters.js';

/** Estimated number of characters of a request per token. */
const TOKEN_LENGTH = 4;

/** Stores the end of a call, and charges the key for the usage. */
@Injectable()
export class CallEndStage implements OnApplicationShutdown {
  /** Ends of calls that are being stored while no request waits for them. */
  private readonly pending = new Set<Promise<unknown>>();
  private readonly unrecorded = registerCounter(
    'skein_gateway_unrecorded_total',
    'Requests to models that passed although they could not be recorded.',
    [],
  );

  constructor(private readonly budgets: BudgetsService) {}

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.pending);
  }

  /** Resolves when the end is committed. When recording is not required, a failure is only counted and logged. */
  async run(exchange: GatewayExchange, outcome: ExchangeOutcome): Promise<void> {
    const stored = this.store(exchange, outcome);
    if (isRecordRequired(exchange)) return stored;
    const settled = stored.catch((error: unknown) => {
      this.unrecorded.inc();
      logger.error(
        { request_id: exchange.context.request.id, err: error },
        'a request to a model was not recorded',
      );
    });
    this.pending.add(settled);
    void settled.finally(() => this.pending.delete(settled));
  }

  /** Charges the key even when the call cannot be stored. */
  private async store(exchange: GatewayExchange, outcome: ExchangeOutcome): Promise<void> {
    const { recording, context, request } = exchange;
    const { output, exception, isBillable = true } = outcome;
    try {
      await recording?.end({ output, exception, summary: summaryText(exchange, outcome) });
    } finally {
      if (isBillable) {
        const usage = chargedUsage(exchange, outcome);
        await this.budgets.charge(context.caller, request.callContext.projectId, usage);
      }
    }
  }
}

function summaryText(exchange: GatewayExchange, { output }: ExchangeOutcome): string {
  const duration_ms = Math.round(performance.now() - exchange.startedMs);
  const unread = output?.unread ?? 0;
  const gateway = { duration_ms, ...(unread > 0 && { unread }) };
  const members = new Map([['gateway', JSON.stringify(gateway)]]);
  const { name, member, counts } = answerUsage(exchange, output?.value);
  if (name !== null && output !== null) {
    const text = counts && textsIn(output.text, { [member]: true })?.[member];
    const usage = new Map([['requests', '1'], ...memberTexts(text ?? '{}')]);
    members.set('usage', objectText([[name, objectText(usage)]]));
  }
  return objectText(members);
}

/**
 * Returns the usage of an answer, keyed by the name of the model. An answer without usage is estimated from the length
 * of the request and the number of chunks. Otherwise a client would pay nothing when it leaves before the end.
 */
function chargedUsage(exchange: GatewayExchange, { output }: ExchangeOutcome): object {
  const { request, target } = exchange;
  const { name, counts } = answerUsage(exchange, output?.value);
  const isReported = Object.values(counts ?? {}).some(
    (count) => typeof count === 'number' && count > 0,
  );
  const estimate = {
    prompt_tokens: Math.ceil(request.text.length / TOKEN_LENGTH),
    completion_tokens: output?.chunks ?? 0,
  };
  return { [name ?? target.model]: isReported ? counts : estimate };
}

/** Returns the name that the usage counts for, and the counts. The name is the checkpoint, else the answer's model. */
function answerUsage({ target }: GatewayExchange, answer: unknown) {
  const value = isObject(answer) ? answer : {};
  const member = ADAPTERS[target.provider.engine].usageMember;
  const { model, [member]: counts } = value;
  return {
    name: target.checkpoint ?? (typeof model === 'string' ? model : null),
    member,
    counts: isObject(counts) ? counts : null,
  };
}
