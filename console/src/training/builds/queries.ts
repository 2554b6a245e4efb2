import { queryOptions } from '@tanstack/react-query';
import { send } from '../../api/client.ts';
import { keys } from '../../api/keys.ts';
import { indexJson } from '../../json/json-indexer.ts';
import { readGroup } from '../queries.ts';

/** Characters that are read for samples at most. */
const MOST_SAMPLE = 8_000_000;

/** Reads the first groups of a build, as far as they fit into `MOST_SAMPLE`. */
export const samplesQuery = (project_id: string, build_id: string, groups: number) =>
  queryOptions({
    queryKey: keys.buildSamples(project_id, build_id),
    staleTime: Infinity,
    gcTime: 60_000,
    structuralSharing: false,
    queryFn: async ({ signal }) => {
      const body = { project_id, build_id, format: 'art', split: 'all' };
      const end = new AbortController();
      const response = await send('POST', '/build/export', {
        body,
        signal: AbortSignal.any([signal, end.signal]),
      });
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      for (let ends = 0; ends < groups && text.length < MOST_SAMPLE;) {
        const { done, value } = await reader.read();
        if (done) break;
        text += value;
        ends += value.split('\n').length - 1;
      }
      end.abort(); // ends the download
      const lines = text.split('\n').slice(0, -1).slice(0, groups);
      return Promise.all(lines.map(async (line) => readGroup(await indexJson(line, signal), 0)));
    },
  });
