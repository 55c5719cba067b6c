import { useState } from "preact/hooks";
import { t } from "../i18n/language.ts";
import { Button } from "./button.tsx";

/** Time that the confirmation is shown, in milliseconds. */
const SAID = 2_000;

/** Copies a text to the clipboard and confirms it. */
export function CopyButton({ text, name }: { readonly text: string; readonly name?: string }) {
  const [said, say] = useState<"action.copied" | "action.notCopied">();
  const copy = async (): Promise<void> => {
    say((await copyText(text)) ? "action.copied" : "action.notCopied");
    setTimeout(() => say(undefined), SAID);
  };
  return (
    <>
      <Button icon={said === "action.copied" ? "done" : "copy"} onClick={() => void copy()}>
        {name ?? t("action.copy")}
      </Button>
      <span class={said === "action.notCopied" ? "quiet small" : "unseen"} role="status">
        {said && t(said)}
      </span>
    </>
  );
}

/** Copies a text: by the clipboard API over HTTPS or on this machine, else by the older command. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    // An open dialog makes everything outside of it inert.
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    return copied;
  }
}
