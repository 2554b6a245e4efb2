import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { post } from '../../api/client.ts';
import { keys } from '../../api/keys.ts';
import { mayActAs, useMe } from '../../api/session.ts';
import { Button } from '../../ui/Button.tsx';
import { ErrorRetry } from '../../ui/ErrorRetry.tsx';
import { Field } from '../../ui/Field.tsx';
import { ErrorNote, Skeleton } from '../../ui/Notice.tsx';
import { GateOutcome } from './GateOutcome.tsx';
import { AliasMoves } from './AliasMoves.tsx';
import { MoveCurrent } from './MoveCurrent.tsx';
import { aliasesQuery, CURRENT, type Gate } from './queries.ts';
import { termsQuery } from '../queries.ts';
import styles from '../training.module.css';

interface CheckpointParams {
  entity: string;
  project: string;
  modelId: string;
  step: number;
}

export function Promotion(place: CheckpointParams) {
  const { entity, project, modelId, step } = place;
  const project_id = `${entity}/${project}`;
  const me = useMe();
  const { data, error, refetch } = useQuery(aliasesQuery(project_id, modelId));
  if (error) return <ErrorRetry error={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton rows={8} />;
  const current = data.aliases.find(({ alias }) => alias === CURRENT)?.step;
  const against = current ?? 0;
  const mayPromote = current !== step && mayActAs(me, 'writer', project_id);
  return (
    <div className={styles['scroll']} tabIndex={0} role="region" aria-label="Promotion">
      <div className={styles['bar']}>
        <p>{currentStepText(step, current)}</p>
        {mayPromote && <MoveCurrent {...place}>Promote by hand</MoveCurrent>}
      </div>
      {against !== step && <Comparison {...place} against={against} mayPromote={mayPromote} />}
      <AliasMoves entity={entity} project={project} modelId={modelId} />
    </div>
  );
}

function currentStepText(step: number, current: number | undefined): string {
  if (current === step)
    return 'This step is current: it answers requests for the model as :current.';
  return current === undefined
    ? 'No step of the model is current yet.'
    : `Step ${current} is current.`;
}

/** Runs the gate between a step and the step that it would replace. */
function Comparison({
  entity,
  project,
  modelId,
  step,
  against,
  mayPromote,
}: CheckpointParams & { against: number; mayPromote: boolean }) {
  const project_id = `${entity}/${project}`;
  const key = { project_id, model_id: modelId, step };
  const client = useQueryClient();
  const compare = useMutation({
    mutationFn: ({ gate, against_step }: GateRequest) =>
      post('/models/gate', { ...key, gate, against_step }),
  });
  const promote = useMutation({
    mutationFn: (gate: Gate) => post('/models/promote', { ...key, gate }),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.aliases(project_id, modelId) }),
  });
  const { data: result, variables: wanted } = compare;
  const isOther = result !== undefined && result.against_step !== against;
  return (
    <section className={styles['panel']}>
      <h2>Is it better than step {against}?</h2>
      <GateForm
        project={project_id}
        against={against}
        isBusy={compare.isPending}
        onCompare={(asked) => {
          promote.reset();
          compare.mutate(asked);
        }}
      />
      {compare.error && <ErrorNote error={compare.error} />}
      {promote.error && <ErrorNote error={promote.error} />}
      {result && wanted && (
        <GateOutcome
          result={result}
          action={
            mayPromote && (
              <Button
                look="primary"
                disabled={!result.passed || isOther || promote.isPending}
                title={refusalText(result.passed, isOther)}
                onClick={() => promote.mutate(wanted.gate)}
              >
                Promote step {step}
              </Button>
            )
          }
        />
      )}
    </section>
  );
}

function refusalText(isPassed: boolean, isOther: boolean): string | undefined {
  if (isOther) return 'Compare with the current step first';
  return isPassed ? undefined : 'This step does not pass the gate';
}

/** A comparison to run. Without `against_step` it uses the current step. */
interface GateRequest {
  gate: Gate;
  against_step: number | null;
}

const NUMBERS = [
  { name: 'min_rows', label: 'Minimum of rows', empty: '20' },
  { name: 'confidence', label: 'Confidence', empty: '0.95' },
  { name: 'min_difference', label: 'Minimum difference', empty: '0' },
] as const;

/** Edits a gate. An empty field has the default that its placeholder shows. */
function GateForm({
  project,
  against,
  isBusy,
  onCompare,
}: {
  project: string;
  against: number;
  isBusy: boolean;
  onCompare: (wanted: GateRequest) => void;
}) {
  const { data: terms = [] } = useQuery(termsQuery(project));
  const scores = terms.filter(({ isScore }) => isScore);
  const [chosen, choose] = useState<{ feedback?: string; path?: string }>({});
  const [pairBy, setPairBy] = useState('');
  const [filter, setFilter] = useState('');
  const [other, setOther] = useState('');
  const [numbers, setNumbers] = useState({ min_rows: '', confidence: '', min_difference: '' });
  const feedback = chosen.feedback ?? scores[0]?.feedback ?? '';
  const ofType = scores.filter((term) => term.feedback === feedback);
  const path = chosen.path ?? ofType[0]?.path ?? '';
  const paths = pairBy
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
  const isBad = (text: string) => text !== '' && !Number.isFinite(Number(text));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const given = NUMBERS.flatMap(({ name }) =>
      numbers[name].trim() === '' ? [] : [[name, Number(numbers[name])]],
    );
    const gate = {
      score: { feedback, path },
      ...(paths.length > 0 && { pair_by: paths }),
      filter: readFilter(filter) ?? null,
      ...Object.fromEntries(given),
    };
    onCompare({ gate, against_step: readStep(other) ?? null });
  };
  return (
    <form className={styles['gate']} onSubmit={submit} aria-label="Gate">
      <Field
        label="Score: feedback"
        required
        list="gate-feedback"
        value={feedback}
        onChange={({ target }) => choose({ feedback: target.value })}
      />
      <datalist id="gate-feedback">
        {[...new Set(scores.map((term) => term.feedback))].map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <Field
        label="Path in its payload"
        required
        list="gate-paths"
        value={path}
        onChange={({ target }) => choose({ feedback, path: target.value })}
      />
      <datalist id="gate-paths">
        {ofType.map((term) => (
          <option key={term.path} value={term.path} />
        ))}
      </datalist>
      <Field
        label="Pair rows by"
        placeholder="inputs.messages"
        hint="Fields of the calls, with commas between them."
        value={pairBy}
        onChange={({ target }) => setPairBy(target.value)}
      />
      <FilterField value={filter} onChange={setFilter} />
      <StepField value={other} against={against} onChange={setOther} />
      {NUMBERS.map(({ name, label, empty }) => (
        <Field
          key={name}
          label={label}
          inputMode="decimal"
          placeholder={empty}
          value={numbers[name]}
          isInvalid={isBad(numbers[name])}
          hint={isBad(numbers[name]) && 'Write a number with a point, such as 0.95.'}
          onChange={({ target }) => setNumbers({ ...numbers, [name]: target.value })}
        />
      ))}
      <Button
        type="submit"
        disabled={
          isBusy ||
          [feedback, path].includes('') ||
          [readFilter(filter), readStep(other)].includes(null) ||
          NUMBERS.some(({ name }) => isBad(numbers[name]))
        }
      >
        {isBusy ? 'Comparing…' : 'Compare'}
      </Button>
    </form>
  );
}

interface TextFieldProps {
  value: string;
  onChange: (value: string) => void;
}

function FilterField({ value, onChange }: TextFieldProps) {
  const isBad = readFilter(value) === null;
  return (
    <Field
      label="Filter of the calls"
      placeholder='{"op_names":["exam"]}'
      value={value}
      isInvalid={isBad}
      hint={
        isBad
          ? 'Write a JSON object, such as {"op_names":["exam"]}.'
          : 'The same form as in /calls/query. If empty, all calls of both steps count.'
      }
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

function StepField({ value, onChange, against }: TextFieldProps & { against: number }) {
  const isBad = readStep(value) === null;
  return (
    <Field
      label="Against step"
      inputMode="numeric"
      placeholder={String(against)}
      value={value}
      isInvalid={isBad}
      hint={isBad && 'Write the number of a step.'}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

/** Parses a step. Undefined for an empty text, null for an invalid one. */
function readStep(text: string): number | undefined | null {
  if (text.trim() === '') return undefined;
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : null;
}

/** Parses a JSON object. Undefined for an empty text, null for an invalid one. */
function readFilter(text: string): Record<string, never> | undefined | null {
  if (text.trim() === '') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, never>) : null;
  } catch {
    return null;
  }
}
