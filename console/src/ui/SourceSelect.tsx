import { type Source, SOURCES } from '../api/sources.ts';
import { inputClass } from './Field.tsx';

/** Chooses the source of the shown calls. The address does not contain the source `usual`. */
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
    title="Source of the calls: production, evaluations or the playground"
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
