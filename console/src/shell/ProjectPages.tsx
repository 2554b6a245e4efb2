import { Outlet, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { isProject } from '../api/recent-projects.ts';
import { mayActAs, reaches, useMe } from '../api/session.ts';
import { lazyPage } from './lazy-page.ts';

const NoProject = lazyPage(() => import('./MissingPages.tsx'), 'NoProject');

/** Shows the page of a project when its name is valid and the key reaches it. */
export function ProjectPages(): ReactNode {
  const { entity, project } = useParams({ strict: false });
  const me = useMe();
  const name = `${entity}/${project}`;
  const isReached = mayActAs(me, 'trainer', name) || reaches(me, name);
  return isProject(name) && isReached ? <Outlet /> : <NoProject />;
}
