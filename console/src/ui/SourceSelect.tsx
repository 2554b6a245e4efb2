import { type Source, SOURCES } from '../api/sources.ts';
import { inputClass } from './Field.tsx';

/** Chooses why the calls were made that a page shows; `usual` needs no word in the address. */
export const SourceSelect = ({
  value,
  usual = 'production',
  onChoose,
}: {
  value: Source;
  usual?: Source;
  onChoose: (chosen: { source?: Source }) => void;
}) => (
  <select
    aria-label="Source"
    title="Why calls were made: by production, for evaluations, in the playground"
    className={inputClass}
    value={value}
    onChange={({ target }) => {
      const source = target.value as Source;
      onChoose(source === usual ? {} : { source });
    }}
  >
    {(Object.keys(SOURCES) as Source[]).map((name) => (
      <option key={name} value={name}>
        {SOURCES[name]}
      </option>
    ))}
  </select>
);
