import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { inputTokens } from '../api/calls.ts';
import type { Schema } from '../api/client.ts';
import { wire } from '../api/wire.ts';
import type { JsonIndex } from '../json/json-index.ts';
import { Button } from '../ui/Button.tsx';
import { count, money } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import { costsQuery } from './queries.ts';
import styles from './trace.module.css';

/** Shows the costs of the call for each model, and explains them on request. */
export function Costs({
  project,
  index,
  call,
  id,
}: {
  project: string;
  index: JsonIndex;
  call: number;
  id: string;
}) {
  const [isExplained, explain] = useState(false);
  const explained = useQuery({ ...costsQuery(project, id), enabled: isExplained });
  const rows = Object.entries(costsIn(index, call));
  return (
    <div className={styles['costs']}>
      {rows.length === 0 ? (
        <p className={styles['soft']}>
          The call reports no tokens: its summary has no <code>usage</code>.
        </p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Model</th>
              <th scope="col">Input</th>
              <th scope="col">Output</th>
              <th scope="col">Cost</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([model, cost]) => (
              <tr key={model}>
                <th scope="row">{model}</th>
                <td>{count(inputTokens(cost))}</td>
                <td>{count(cost.completion_tokens)}</td>
                <td>
                  {cost.total_cost === null
                    ? 'no price'
                    : money(cost.total_cost, cost.prompt_token_cost_unit ?? undefined)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {!isExplained && rows.length > 0 && <Button onClick={() => explain(true)}>Explain</Button>}
      {explained.error && <ErrorNote error={explained.error} />}
      {explained.data?.map(({ llm_id, terms, why }) => (
        <section key={llm_id} className={styles['why']} aria-label={`Cost of ${llm_id}`}>
          <h2>{llm_id}</h2>
          {terms.map(({ kind, text }) => (
            <code key={kind}>{text}</code>
          ))}
          <p>{why}</p>
        </section>
      ))}
    </div>
  );
}

function costsIn(index: JsonIndex, call: number): Record<string, Schema<'CallCostDto'>> {
  let node: number | undefined = call;
  for (const name of ['summary', wire.summary, 'costs'])
    node = node === undefined ? undefined : index.member(node, name);
  return node === undefined
    ? {}
    : ((JSON.parse(index.nodeText(node)) ?? {}) as Record<string, Schema<'CallCostDto'>>);
}
