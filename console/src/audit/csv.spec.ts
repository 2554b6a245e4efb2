import { csv, type AuditEvent } from './csv.ts';

const event = (user: string): AuditEvent => ({
  id: 'i',
  created_at: '2026-01-01T00:00:00Z',
  action: 'members.set',
  project_id: null,
  key_id: null,
  user_id: 'u',
  user,
  target: 't',
  detail: { role: 'reader' },
});

it.each([
  ['ada@example.com', 'ada@example.com'],
  ['a,b', '"a,b"'],
  ['says "hi"', '"says ""hi"""'],
  ['=cmd()', "'=cmd()"],
  ['@SUM(1)', "'@SUM(1)"],
])('the user %s is %s in a file', (user, cell) => {
  expect(csv([event(user)])).toBe(
    `created_at,user,action,project_id,target,user_id,key_id,id,detail\r\n2026-01-01T00:00:00Z,${cell},members.set,,t,u,,i,"{""role"":""reader""}"\r\n`,
  );
});
