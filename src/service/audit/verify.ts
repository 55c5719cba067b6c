/** Whether the audit is whole: for those who have its rows from somewhere else than the database. */
export type { AuditRow } from "../../store/audit-store.ts";
export { createVerifier, type Verifier } from "../../store/audit-verify.ts";
