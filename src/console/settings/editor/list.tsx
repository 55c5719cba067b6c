import { useRef } from "preact/hooks";
import { Icon } from "../../components/button.tsx";
import { t } from "../../i18n/language.ts";
import type { EditorProps } from "./fields.tsx";

/**
 * Editor for names separated by commas. Each can be removed; new ones are typed or pasted at the
 * end.
 */
export function List({ id, value, describedBy, invalid, fixed, onChange }: EditorProps) {
  const field = useRef<HTMLInputElement>(null);
  const names = split(value);
  const set = (next: readonly string[]): void => onChange([...new Set(next)].join(","));
  const add = (text: string): void => set([...names, ...split(text)]);
  const remove = (name: string): void => {
    set(names.filter((other) => other !== name));
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLInputElement }): void => {
    // The key belongs to an active input method.
    if (event.isComposing) return;
    const input = event.currentTarget;
    if (event.key === "Enter" && input.value !== "") {
      event.preventDefault();
      take(input);
    }
    if (event.key === "Backspace" && input.value === "" && names.length > 0)
      set(names.slice(0, -1));
  };
  const take = (input: HTMLInputElement): void => {
    if (input.value.trim() === "") return;
    add(input.value);
    input.value = "";
  };
  return (
    <div class="names input">
      <ul>
        {names.map((name) => (
          <li key={name}>
            <code>{name}</code>
            {!fixed && (
              <button
                type="button"
                aria-label={t("list.remove", { name })}
                onClick={() => remove(name)}
              >
                <Icon name="close" />
              </button>
            )}
          </li>
        ))}
        <li class="more">
          <input
            id={id}
            ref={field}
            class="mono"
            readOnly={fixed}
            aria-describedby={describedBy}
            aria-invalid={invalid}
            autocomplete="off"
            spellcheck={false}
            placeholder={fixed ? "" : t("list.add")}
            onKeyDown={onKeyDown}
            onBlur={(event) => take(event.currentTarget)}
            onInput={(event) => {
              if (event.currentTarget.value.includes(",")) take(event.currentTarget);
            }}
          />
        </li>
      </ul>
    </div>
  );
}

function split(text: string): string[] {
  return text
    .split(/[,\n]/)
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
