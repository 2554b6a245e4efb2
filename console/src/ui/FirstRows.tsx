import styles from './first-rows.module.css';

/** A small table of the rows that an action will store, with columns named by `names`. */
export const FirstRows = ({
  names,
  rows,
}: {
  names: readonly string[];
  rows: readonly (readonly string[])[];
}) => (
  <div className={styles['rows']} tabIndex={0} role="region" aria-label="First rows">
    <table>
      <thead>
        <tr>
          {names.map((name, n) => (
            <th key={n} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, row) => (
          <tr key={row}>
            {cells.map((cell, n) => (
              <td key={n}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
