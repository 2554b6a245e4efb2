import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { isProject } from '../api/recent-projects.ts';
import { useMe } from '../api/session.ts';
import { buttonClass } from '../ui/Button.tsx';
import { EmptyState } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';

export const NoPage = (): ReactNode => (
  <Page title="No such page">
    <EmptyState title="There is no page at this address">
      <p>The link may be old or incomplete.</p>
      <ProjectsLink />
    </EmptyState>
  </Page>
);

const ProjectsLink = (): ReactNode => (
  <Link to="/projects" className={buttonClass('primary')}>
    All projects
  </Link>
);

/** Says why the pages of a project cannot be shown. */
export function NoProject(): ReactNode {
  const { entity, project } = useParams({ strict: false });
  const me = useMe();
  const name = `${entity}/${project}`;
  if (!isProject(name))
    return (
      <Page title="No such project">
        <EmptyState title="This is not the name of a project">
          <p>
            Entity and project have letters, digits, <code>_</code>, <code>.</code> and{' '}
            <code>-</code> only.
          </p>
          <ProjectsLink />
        </EmptyState>
      </Page>
    );
  return (
    <Page title="No such project">
      <EmptyState title={`You have no access to ${name}`}>
        <p>Your key reaches {me.scopes.join(', ') || 'nothing'}.</p>
        <ProjectsLink />
      </EmptyState>
    </Page>
  );
}
