import { useSignal } from "@preact/signals";
import { Icon } from "../components/button.tsx";
import { t } from "../i18n/language.ts";

/** Input for one file, by drag and drop or selection. */
export function DropZone(props: {
  /** Name of the accepted file. */
  readonly name: string | undefined;
  readonly onFile: (file: File) => void;
}) {
  const over = useSignal(false);
  const take = (files: FileList | null | undefined): void => {
    const file = files?.[0];
    if (file !== undefined) props.onFile(file);
  };
  return (
    <label
      class={over.value ? "drop over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        over.value = true;
      }}
      onDragLeave={() => {
        over.value = false;
      }}
      onDrop={(event) => {
        event.preventDefault();
        over.value = false;
        take(event.dataTransfer?.files);
      }}
    >
      <Icon name="file" />
      <span>{props.name ?? t("import.drop")}</span>
      <input
        type="file"
        class="unseen"
        accept=".json,application/json"
        onChange={(event) => {
          take(event.currentTarget.files);
          // Allows choosing the same file again.
          event.currentTarget.value = "";
        }}
      />
    </label>
  );
}
