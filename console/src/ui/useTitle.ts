import { useParams } from '@tanstack/react-router';
import { useEffect } from 'react';

export function useTitle(title: string): void {
  const { entity, project } = useParams({ strict: false });
  const parts = [title, ...(entity && project ? [`${entity}/${project}`] : []), 'Skein'];
  const whole = parts.join(' · ');
  useEffect(() => {
    document.title = whole;
  }, [whole]);
}
