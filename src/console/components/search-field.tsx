import { useEffect, useRef } from "preact/hooks";
import { refine } from "../shell/location.ts";
import { Icon } from "./button.tsx";
import "./field.css";
import "./search-field.css";

/**
 * Search field of a page, whose text is in the address; `/` focuses it from anywhere on the page.
 */
export function SearchField(props: {
  readonly value: string;
  readonly name: string;
  /** Searched properties. */
  readonly hint: string;
}) {
  const { value, name, hint } = props;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const typing =
        event.target instanceof Element && event.target.matches("input,textarea,select");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.select();
      field.current?.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <div class="search">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        class="input"
        aria-label={name}
        placeholder={hint}
        value={value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => refine({ q: event.currentTarget.value, key: undefined })}
      />
      <kbd>/</kbd>
    </div>
  );
}
