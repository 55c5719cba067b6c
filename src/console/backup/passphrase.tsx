import { t } from "../i18n/language.ts";

/** Field for the passphrase that seals the secrets of a backup. */
export function Passphrase(props: {
  readonly hint?: string;
  /** A new passphrase, or that of an existing backup. */
  readonly autocomplete: "new-password" | "off";
  readonly value: string;
  readonly onChange: (text: string) => void;
}) {
  const { hint, autocomplete, value, onChange } = props;
  return (
    <label>
      <span class="label">
        {t("backup.passphrase")} {hint !== undefined && <span class="quiet small">{hint}</span>}
      </span>
      <input
        class="input short"
        type="password"
        autocomplete={autocomplete}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}
