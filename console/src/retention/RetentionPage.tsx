import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect } from 'react';
import { noteProject } from '../api/recent-projects.ts';
import { mayActAs, useMe } from '../api/session.ts';
import { Skeleton } from '../ui/Notice.tsx';
import { Page } from '../ui/Page.tsx';
import { Holds } from './Holds.tsx';
import { Policy } from './Policy.tsx';
import { retentionQuery } from './queries.ts';

const route = getRouteApi('/p/$entity/$project/retention');

/** How long a project keeps its data, and its legal holds. Admins change both. */
export function RetentionPage() {
  const { entity, project: name } = route.useParams();
  const project = `${entity}/${name}`;
  const isAdmin = mayActAs(useMe(), 'admin', project);
  const { data, error, refetch } = useQuery(retentionQuery(project));
  useEffect(() => noteProject(project), [project]);
  return (
    <Page title="Retention" error={error} onRetry={() => void refetch()}>
      {!data && !error && <Skeleton rows={6} />}
      {data && (
        <>
          <Policy key={project} project={project} stored={data} isAdmin={isAdmin} />
          <Holds project={project} holds={data.holds} isAdmin={isAdmin} />
        </>
      )}
    </Page>
  );
}
