import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { ApiError } from '../../../platform/errors.js';
import type { Context } from '../../../platform/http/context.js';
import { DocumentReader } from '../../../platform/http/document-reader.js';
import { invalidRequest } from '../../../platform/errors.js';
import { memberTexts } from '../../../platform/json/json-text.js';
import type { CallMatchesAnswerDto, CallMatchesDto } from './call-matches.dto.js';
import { MatchFinder, type TextMatch } from './call-matches.js';
import { SEARCHED, searchedCalls } from './call-matches.query.js';

const MAX_MATCHES = 3;
/** Most characters of documents that one request searches. Each text counts them anew. */
const MAX_CHARACTERS = 64 * 1024 * 1024;

/** Finds where calls say some texts. */
@Injectable()
export class CallMatchesService {
  constructor(private readonly database: Database) {}

  async matches(asked: CallMatchesDto, { hold }: Context): Promise<CallMatchesAnswerDto> {
    const { project_id, call_ids } = asked;
    const texts = [...new Set(asked.texts ?? (asked.text ? [asked.text] : []))];
    if (texts.length === 0) throw invalidRequest([{ path: 'texts', message: 'is required' }]);
    const isFolded = asked.case_insensitive === true;
    const documents = new DocumentReader(hold);
    const finders = texts.map((text) => new MatchFinder(text, isFolded, documents));
    const answer: CallMatchesAnswerDto = { matches: [], not_searched: [] };
    const rows = searchedCalls(project_id, [...new Set(call_ids)], { texts, isFolded });
    let left = MAX_CHARACTERS;
    const batches = await this.database.stream(rows, { maxBatch: 1 });
    for await (const [json] of batches as AsyncIterable<[string]>) {
      const call = memberTexts(json);
      left -= json.length * texts.length;
      const id = await documents.read<string>(call.get('id')!);
      const isTooLarge = left < 0 || call.get('is_large') === 'true';
      const found = isTooLarge ? null : await inCall(call, finders);
      if (found) answer.matches.push(...found.map((match) => ({ id, ...match })));
      else answer.not_searched.push(id);
    }
    return answer;
  }
}

/** Returns null for a call that takes too much memory. */
async function inCall(
  call: ReadonlyMap<string, string>,
  finders: readonly MatchFinder[],
): Promise<TextMatch[] | null> {
  const found: TextMatch[] = [];
  try {
    for (const finder of finders) {
      const most = found.length + MAX_MATCHES;
      for (const name of SEARCHED)
        if (found.length < most)
          found.push(...(await finder.matches(call.get(name)!, name, most - found.length)));
    }
    return found;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'too_large') return null;
    throw error;
  }
}
