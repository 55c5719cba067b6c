import "../i18n/later.ts";
import { may } from "../api/rights.ts";
import { t } from "../i18n/language.ts";
import { PageHead } from "../shell/page-head.tsx";
import { Export } from "./export.tsx";
import { Import } from "./import.tsx";
import "../components/field.css";
import "./backup.css";

/** All settings into a file, and back. */
export default function BackupPage() {
  return (
    <>
      <PageHead title={t("page.backup")} />
      {may("backup:export") && <Export />}
      {may("backup:import") && <Import />}
    </>
  );
}
