import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { post } from '../../api/client.ts';
import { Button } from '../../ui/Button.tsx';
import { Dialog, DialogActions } from '../../ui/Dialog.tsx';
import { inputClass } from '../../ui/Field.tsx';
import { ErrorNote } from '../../ui/Notice.tsx';
import { type Build, modelsQuery } from '../queries.ts';
import styles from '../training.module.css';

export function SubmitBuild({
  entity,
  project,
  build,
}: {
  entity: string;
  project: string;
  build: Build;
}) {
  const navigate = useNavigate();
  const [isAsking, ask] = useState(false);
  const [chosen, choose] = useState<string>();
  const { data: models = [] } = useQuery({ ...modelsQuery(entity, project), enabled: isAsking });
  const model_id = chosen ?? models[0]?.id;
  const submit = useMutation({
    mutationFn: () =>
      post('/build/submit', {
        project_id: `${entity}/${project}`,
        build_id: build.id,
        model_id: model_id!,
      }),
    onSuccess: ({ job_id: jobId }) =>
      navigate({
        to: '/p/$entity/$project/training/jobs/$jobId',
        params: { entity, project, jobId },
      }),
  });
  return (
    <>
      <Button look="primary" onClick={() => ask(true)}>
        Train a model on this build
      </Button>
      <Dialog title="Train a model on this build" isOpen={isAsking} onClose={() => ask(false)}>
        <div className={styles['form']}>
          <p>
            The training groups become a job, which waits for a trainer. The evaluation groups are
            logged as trajectories of the model.
          </p>
          {models.length === 0 ? (
            <p className={styles['soft']}>There is no model in {`${entity}/${project}`} yet.</p>
          ) : (
            <label>
              Model{' '}
              <select
                className={inputClass}
                value={model_id}
                onChange={({ target }) => choose(target.value)}
              >
                {models.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
          )}
          {submit.error && <ErrorNote error={submit.error} />}
        </div>
        <DialogActions>
          <Button onClick={() => ask(false)}>Cancel</Button>
          <Button
            look="primary"
            disabled={!model_id || submit.isPending}
            onClick={() => submit.mutate()}
          >
            Submit the job
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}
