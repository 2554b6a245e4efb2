/** Roles of people. Each role includes the one before. */
export const MEMBER_ROLES = ['reader', 'writer', 'admin'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** Roles of keys. `trainer` is for the trainer protocol, and includes no other role. */
export const ROLES = [...MEMBER_ROLES, 'trainer'] as const;
export type Role = (typeof ROLES)[number];
