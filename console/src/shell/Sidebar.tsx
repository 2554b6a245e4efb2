import { useQueryClient } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { mayActAs, signOut, useMe } from '../api/session.ts';
import { sourceIn } from '../api/sources.ts';
import { Button } from '../ui/Button.tsx';
import { Keyboard } from './Keyboard.tsx';
import { Logo } from './Logo.tsx';
import { ProjectSwitch } from './ProjectSwitch.tsx';
import styles from './shell.module.css';
import { applyTheme, theme, THEMES } from './theme.ts';

export function Sidebar() {
  const me = useMe();
  const { entity, project } = useParams({ strict: false });
  const search = sourceIn(useSearch({ strict: false }));
  const [isSeeking, seek] = useState(false);
  return (
    <nav className={styles['sidebar']} aria-label="Console">
      <div className={styles['brand']}>
        <Logo /> Skein
      </div>
      <ProjectSwitch current={entity && project ? `${entity}/${project}` : undefined} />
      <button
        type="button"
        className={styles['goTo']}
        title="Go to a page, a project, a trace (Ctrl K)"
        onClick={() => seek(true)}
      >
        <span>Go to</span> <kbd>Ctrl K</kbd>
      </button>
      <Keyboard isOpen={isSeeking} onClose={() => seek(false)} />
      {entity && project && (
        <ul className={styles['nav']}>
          <li>
            <Link to="/p/$entity/$project/traces" params={{ entity, project }} search={search}>
              Traces
            </Link>
          </li>
          <li>
            <Link to="/p/$entity/$project/threads" params={{ entity, project }} search={search}>
              Threads
            </Link>
          </li>
          <li>
            <Link to="/p/$entity/$project/metrics" params={{ entity, project }} search={search}>
              Metrics
            </Link>
          </li>
          <li>
            <Link to="/p/$entity/$project/evaluations" params={{ entity, project }}>
              Evaluations
            </Link>
          </li>
          <li>
            <Link to="/p/$entity/$project/objects" params={{ entity, project }}>
              Objects
            </Link>
          </li>
          <li>
            <Link to="/p/$entity/$project/queues" params={{ entity, project }}>
              Queues
            </Link>
          </li>
          <li>
            <Link to="/p/$entity/$project/training" params={{ entity, project }}>
              Training
            </Link>
          </li>
          <li>
            <Link to="/p/$entity/$project/retention" params={{ entity, project }}>
              Retention
            </Link>
          </li>
        </ul>
      )}
      <ul className={styles['nav']}>
        <li>
          <Link
            to="/connect"
            search={entity && project ? { project: `${entity}/${project}` } : {}}
            activeOptions={{ includeSearch: false }}
          >
            Connect
          </Link>
        </li>
        <li>
          <Link to="/projects">Projects</Link>
        </li>
        {me.person !== null && (
          <li>
            <Link to="/my-keys">My keys</Link>
          </li>
        )}
        {mayActAs(me, 'admin') && (
          <>
            <li>
              <Link to="/keys">Keys</Link>
            </li>
            <li>
              <Link to="/people">People</Link>
            </li>
            <li>
              <Link to="/audit">Audit</Link>
            </li>
          </>
        )}
      </ul>
      <span className={styles['space']} />
      <Account user={me.user} role={me.role} />
    </nav>
  );
}

function Account({ user, role }: { user: string; role: string }) {
  const client = useQueryClient();
  const [chosen, choose] = useState(theme);
  const next = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length]!;
  return (
    <div className={styles['account']}>
      <div className={styles['who']} title={`${user}, ${role}`}>
        <span className={styles['user']}>{user}</span>
        <span className={styles['role']}>{role}</span>
      </div>
      <Button
        look="quiet"
        title={`Switch to the ${next} theme`}
        onClick={() => {
          applyTheme(next);
          choose(next);
        }}
      >
        Theme: {chosen}
      </Button>
      <Button look="quiet" onClick={() => void signOut(client)}>
        Sign out
      </Button>
    </div>
  );
}
