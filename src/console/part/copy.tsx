import { useState } from "preact/hooks";
import { t } from "../i18n/language.ts";
import { Button } from "./button.tsx";

/** How long it says that it is done, in milliseconds. */
const SAID = 2_000;

/** Puts a text into the clipboard, and says so. */
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

/** Browsers have a clipboard where the page came by HTTPS or from this machine, and an older way elsewhere. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    // A dialog lets nothing outside of it be chosen.
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    return copied;
  }
}
