import { misspeltSettings } from './misspelt-settings.js';

describe('settings whose names are misspelt', () => {
  it.each([
    ['DATABSE_URL', 'DATABASE_URL'],
    ['WORKER', 'WORKERS'],
    ['RATE_LIMIT_REQUEST_PER_MINUTE', 'RATE_LIMIT_REQUESTS_PER_MINUTE'],
    ['max_body_bytes', 'MAX_BODY_BYTES'],
    ['DATABASE_URLFILE', 'DATABASE_URL_FILE'],
  ])('%s is told as %s', (name, meant) => {
    expect(misspeltSettings({ [name]: '2' })).toEqual([{ name, meant }]);
  });

  it.each([
    {
      PATH: '/bin',
      HOME: '/root',
      HOSTNAME: 'box',
      PORTS: '1',
      LANG: 'C',
      SKEIN_PORT: 'tcp://10.0.0.1',
    },
    { WORKERS: '2', WORKER: '3' }, // WORKERS is set
  ])('others are not told of', (env) => {
    expect(misspeltSettings(env as NodeJS.ProcessEnv)).toEqual([]);
  });
});
