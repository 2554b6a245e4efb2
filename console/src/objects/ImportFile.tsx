import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import type { Schema } from '../api/client.ts';
import { keys } from '../api/keys.ts';
import { Problem, type Violation } from '../api/problem.ts';
import { Button } from '../ui/Button.tsx';
import { Dialog, DialogActions } from '../ui/Dialog.tsx';
import { Field } from '../ui/Field.tsx';
import { count } from '../ui/format.ts';
import { ErrorNote } from '../ui/Notice.tsx';
import { SelectField } from '../ui/SelectField.tsx';
import { faultText, type FileToImport, importFile, type Mapping } from './import-file.ts';
import { ImportColumns, PreviewRows } from './ImportColumns.tsx';
import styles from './objects.module.css';
import { previewQuery } from './queries.ts';

const DELIMITERS = { ',': 'comma', ';': 'semicolon', tab: 'tab', '|': 'bar' };
const MODES = { append: 'Add the rows that are new', replace: 'Replace all rows' };

interface Choices {
  file: File | undefined;
  name: string;
  mode: string;
  delimiter: string;
  mapping: Mapping;
}

const isJsonLines = (file: File | undefined) => /\.(jsonl|ndjson|json)$/i.test(file?.name ?? '');
const isDatasetName = (name: string) => /^[\w.-]{1,128}$/.test(name.trim());

/** Imports a file of CSV or JSON lines into a dataset: `objectId`, or one that the viewer names. */
export function ImportFile({
  project,
  objectId,
  onClose,
}: {
  project: string;
  objectId?: string;
  onClose: () => void;
}) {
  const [chosen, choose] = useState<Choices>({
    file: undefined,
    name: objectId ?? '',
    mode: 'append',
    delimiter: ',',
    mapping: {},
  });
  const { file, name, mode, delimiter, mapping } = chosen;
  const isCsv = !isJsonLines(file);
  const of = file && { project, file, isCsv, delimiter, mapping };
  const preview = useQuery({ ...previewQuery(of), placeholderData: keepPreviousData });
  const { imported, share } = useImport(of, { objectId: name.trim(), mode });
  if (imported.data) return <Imported project={project} answer={imported.data} onClose={onClose} />;
  const set = (some: Partial<Choices>) => {
    choose({ ...chosen, ...some });
    imported.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    imported.mutate();
  };
  const data = of && preview.data;
  return (
    <Dialog title="Import a file" isOpen onClose={onClose}>
      <form onSubmit={submit} className={styles['form']}>
        <FileChoice chosen={chosen} isNamed={objectId !== undefined} onChoose={set} />
        {data && (
          <>
            <ImportColumns
              columns={data.columns}
              isCsv={isCsv}
              mapping={mapping}
              onChange={(next) => set({ mapping: next })}
            />
            <PreviewRows rows={data.shown} />
          </>
        )}
        <Faults error={imported.error ?? preview.error} found={data?.errors} />
        {imported.isPending && <Progress share={share} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            look="primary"
            disabled={!data || !isDatasetName(name) || imported.isPending}
          >
            Import
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function FileChoice({
  chosen: { file, name, mode, delimiter },
  isNamed,
  onChoose,
}: {
  chosen: Choices;
  isNamed: boolean;
  onChoose: (some: Partial<Choices>) => void;
}) {
  const take = (taken: File | undefined) => {
    const stem = taken?.name.replace(/\.\w+$/, '').replaceAll(/[^\w.-]+/g, '-') ?? '';
    onChoose({ file: taken, mapping: {}, ...(name === '' && { name: stem.slice(0, 128) }) });
  };
  return (
    <>
      <Field
        label="File of CSV or JSON lines"
        type="file"
        accept=".csv,.tsv,.txt,.jsonl,.ndjson,.json"
        onChange={({ target }) => take(target.files?.[0])}
      />
      {!isNamed && (
        <Field
          label="Dataset"
          value={name}
          maxLength={128}
          isInvalid={name !== '' && !isDatasetName(name)}
          onChange={({ target }) => onChoose({ name: target.value })}
          hint='The name of a dataset, or a new name of letters, digits, "_", "." and "-".'
        />
      )}
      <SelectField
        label="Rows"
        value={mode}
        options={Object.entries(MODES)}
        onChoose={(value) => onChoose({ mode: value })}
      />
      {file && !isJsonLines(file) && (
        <SelectField
          label="Delimiter"
          value={delimiter}
          options={Object.entries(DELIMITERS)}
          onChoose={(value) => onChoose({ delimiter: value, mapping: {} })}
        />
      )}
    </>
  );
}

/** Sends the file, which ends when the dialog is closed. */
function useImport(of: FileToImport | undefined, to: { objectId: string; mode: string }) {
  const client = useQueryClient();
  const [share, onProgress] = useState(0);
  const [leaving] = useState(() => new AbortController());
  useEffect(() => () => leaving.abort(), [leaving]);
  const imported = useMutation({
    mutationFn: () => importFile(of!, to, { signal: leaving.signal, onProgress }),
    onSettled: () => {
      const { project } = of!;
      const stale = [
        keys.objects(project),
        keys.datasets(project),
        keys.rowSources(project, to.objectId),
        keys.erasedRows(project, to.objectId),
      ];
      return Promise.all(stale.map((queryKey) => client.invalidateQueries({ queryKey })));
    },
  });
  return { imported, share };
}

function Progress({ share }: { share: number }) {
  const percent = Math.floor(share * 100);
  return (
    <div role="status">
      <progress aria-label="Sent" value={share} />{' '}
      {percent < 100 ? `${percent} % sent` : 'All is sent and is being stored'}
    </div>
  );
}

function Faults({
  error,
  found,
}: {
  error: Error | null;
  found: readonly Violation[] | undefined;
}) {
  const faults = error instanceof Problem ? error.violations : (found ?? []);
  return (
    <>
      {faults.length > 0 && (
        <section aria-label="Faults" className={styles['faults']} tabIndex={0}>
          <ul>
            {faults.map((fault, n) => (
              <li key={n}>{faultText(fault)}</li>
            ))}
          </ul>
        </section>
      )}
      {error && <ErrorNote error={error} />}
    </>
  );
}

function Imported({
  project,
  answer,
  onClose,
}: {
  project: string;
  answer: Schema<'DatasetImportedDto'>;
  onClose: () => void;
}) {
  const [entity, name] = project.split('/') as [string, string];
  const { object_id: objectId, added, duplicates, num_rows, version_index } = answer;
  return (
    <Dialog title={`Imported into ${objectId}`} isOpen onClose={onClose}>
      <p role="status">
        {count(added)} {added === 1 ? 'row' : 'rows'} added, {count(duplicates)} there before or
        twice in the file. Version {version_index} has {count(num_rows)} rows.
      </p>
      <DialogActions>
        <Link
          to="/p/$entity/$project/objects/$objectId"
          params={{ entity, project: name, objectId }}
          search={{}}
          onClick={onClose}
        >
          Open the dataset
        </Link>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
