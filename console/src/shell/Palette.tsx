import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import { projectsQuery } from '../api/projects.ts';
import { recentProjects } from '../api/recent-projects.ts';
import { mayActAs, reaches, useMe } from '../api/session.ts';
import controls from '../ui/controls.module.css';
import { Dialog } from '../ui/Dialog.tsx';
import { type Command, matchingCommands } from './commands.ts';
import styles from './shell.module.css';
import { applyTheme, THEMES } from './theme.ts';

const MAX_COMMANDS = 50;
const PAGES = [
  'traces',
  'threads',
  'metrics',
  'evaluations',
  'objects',
  'queues',
  'training',
  'retention',
] as const;

/** Finds any page, project, trace or thread by some letters of its name. */
export function Palette({
  onClose,
  onHelp,
}: {
  onClose: () => void;
  onHelp: () => void;
}): ReactNode {
  const id = useId();
  const [typed, setTyped] = useState('');
  const [active, setActive] = useState(0);
  const commands = matchingCommands(useCommands(typed.trim(), onHelp), typed).slice(
    0,
    MAX_COMMANDS,
  );
  const chosen = Math.min(active, commands.length - 1);
  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      const next = Math.max(0, Math.min(commands.length - 1, chosen + step));
      setActive(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter') run(commands[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" isOpen onClose={onClose}>
      <input
        role="combobox"
        aria-label="Go to"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={chosen >= 0 ? `${id}-${chosen}` : undefined}
        className={controls['input']}
        placeholder="A page, a project, the id of a trace or a thread"
        value={typed}
        spellCheck={false}
        autoComplete="off"
        autoFocus
        onChange={({ target }) => {
          setTyped(target.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id={`${id}-list`} role="listbox" aria-label="Results" className={styles['known']}>
        {commands.map((command, n) => (
          <li
            key={command.name}
            id={`${id}-${n}`}
            role="option"
            aria-selected={n === chosen}
            className={controls['item']}
            data-highlighted={n === chosen || undefined}
            onPointerMove={() => setActive(n)}
            onClick={() => run(command)}
          >
            {command.name}{' '}
            {command.hint && <small className={styles['role']}>{command.hint}</small>}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function useCommands(typed: string, onHelp: () => void): Command[] {
  const me = useMe();
  const navigate = useNavigate();
  const { entity, project } = useParams({ strict: false });
  const stored = useQuery(projectsQuery).data?.map(({ project_id }) => project_id) ?? [];
  const params = entity && project ? { entity, project } : undefined;
  const title = (name: string) => name[0]!.toUpperCase() + name.slice(1);
  const inProject = !params
    ? []
    : [
        ...PAGES.map((page) => ({
          name: title(page),
          run: () => void navigate({ to: `/p/$entity/$project/${page}`, params }),
        })),
        {
          name: 'Errors of the last day',
          words: 'failed exceptions',
          run: () =>
            void navigate({
              to: '/p/$entity/$project/traces',
              params,
              search: { q: 'status=error', range: '24h', all: true },
            }),
        },
        ...(typed.length < 3
          ? []
          : [
              {
                name: `Trace ${typed}`,
                hint: 'by its id',
                run: () =>
                  void navigate({
                    to: '/p/$entity/$project/traces/$traceId',
                    params: { ...params, traceId: typed },
                  }),
              },
              {
                name: `Thread ${typed}`,
                hint: 'by its id',
                run: () =>
                  void navigate({
                    to: '/p/$entity/$project/threads/$threadId',
                    params: { ...params, threadId: typed },
                  }),
              },
              {
                name: `Search all texts for ${typed}`,
                hint: 'inputs, outputs, exceptions',
                run: () =>
                  void navigate({
                    to: '/p/$entity/$project/traces',
                    params,
                    search: {
                      q: `text~"${typed.replaceAll(/["\\]/g, String.raw`\$&`)}"`,
                      all: true,
                      source: 'all',
                    },
                  }),
              },
            ]),
      ];
  const everywhere = [
    { name: 'Projects', run: () => void navigate({ to: '/projects' }) },
    { name: 'Connect', run: () => void navigate({ to: '/connect' }) },
    ...(mayActAs(me, 'admin')
      ? (['keys', 'people', 'audit'] as const).map((page) => ({
          name: title(page),
          run: () => void navigate({ to: `/${page}` }),
        }))
      : []),
    { name: 'Keyboard shortcuts', words: 'shortcuts help', hint: '?', run: onHelp },
    ...THEMES.map((theme) => ({ name: `Theme: ${theme}`, run: () => applyTheme(theme) })),
  ];
  const others = [...new Set([...recentProjects(), ...stored])].filter(
    (name) => name !== `${entity}/${project}` && reaches(me, name),
  );
  return [
    ...inProject,
    ...everywhere,
    ...others.map((name) => ({
      name: `Project ${name}`,
      run: () => {
        const [to, of] = name.split('/') as [string, string];
        void navigate({ to: '/p/$entity/$project/traces', params: { entity: to, project: of } });
      },
    })),
  ];
}
