import { Check, Field } from "../components/field.tsx";
import { t } from "../i18n/language.ts";
import { HidePreview } from "./hide-preview.tsx";
import { hasPassword, type RuleDraft, VALUES } from "./input.ts";

/** Names of fields in violations. */
const FIELDS = {
  password: "password",
  write: "write",
  hide: "hide",
  readme: "readme",
  header: "header",
  readUsers: "read_users",
  writeUsers: "write_users",
} as const;

/** Values of a rule, each with its switch for the folders below. */
export function RuleFields(props: {
  readonly draft: RuleDraft;
  readonly wrong: ReadonlyMap<string, string>;
  readonly onChange: (change: Partial<RuleDraft>) => void;
}) {
  const { draft, wrong, onChange } = props;
  const { texts, switches, isOpen, base } = draft;
  const flip = (name: keyof RuleDraft["switches"], value: boolean): void =>
    onChange({ switches: { ...switches, [name]: value } });
  return (
    <section class="sheet block block-form" aria-label={t("rule.values")}>
      {VALUES.map(({ name, below }) => (
        <fieldset key={name}>
          {name === "write" ? (
            <Check
              label={t("rule.write")}
              checked={switches.write}
              onChange={(checked) => flip("write", checked)}
            />
          ) : (
            <Field
              label={t(`rule.${name}`)}
              hint={
                name === "password" && hasPassword(base) ? t("rule.kept") : t(`rule.${name}Hint`)
              }
              wrong={wrong.get(FIELDS[name])}
              value={texts[name]}
              lines={name !== "password"}
              secret={name === "password"}
              onChange={(text) => onChange({ texts: { ...texts, [name]: text } })}
            />
          )}
          {name === "password" && hasPassword(base) && (
            <Check
              label={t("rule.removePassword")}
              checked={isOpen}
              onChange={(checked) => onChange({ isOpen: checked })}
            />
          )}
          <Check
            label={t("rule.below")}
            checked={switches[below]}
            onChange={(checked) => flip(below, checked)}
          />
          {name === "hide" && <HidePreview hide={texts.hide} path={draft.path} />}
        </fieldset>
      ))}
    </section>
  );
}
