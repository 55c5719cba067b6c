import { useRef } from "preact/hooks";
import { Button, Icon } from "../../components/button.tsx";
import { type Mistake, mistakeOf } from "../../components/json-mistake.ts";
import { t } from "../../i18n/language.ts";
import { common, type EditorProps } from "./fields.tsx";

/** Editor for JSON, with the position of the first syntax error. */
export function Json(props: EditorProps) {
  const { value, fixed, onChange } = props;
  const area = useRef<HTMLTextAreaElement>(null);
  const mistake = value.trim() === "" ? undefined : mistakeOf(value);
  const show = ({ at }: Mistake): void => {
    area.current?.focus();
    area.current?.setSelectionRange(at, at + 1);
  };
  const pretty = mistake === undefined ? formatted(value) : value;
  return (
    <div>
      <textarea
        {...common(props)}
        ref={area}
        class="input mono"
        rows={3}
        value={value}
        aria-invalid={props.invalid || mistake !== undefined}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      {mistake && (
        <p class="wrong" role="status">
          <Icon name="warning" />
          <button type="button" class="place" onClick={() => show(mistake)}>
            {t("json.mistake", { line: mistake.line, column: mistake.column })}
          </button>
        </p>
      )}
      {!fixed && pretty !== value && (
        <Button kind="bare" onClick={() => onChange(pretty)}>
          {t("json.format")}
        </Button>
      )}
    </div>
  );
}

function formatted(value: string): string {
  return value.trim() === "" ? value : JSON.stringify(JSON.parse(value), null, 2);
}
