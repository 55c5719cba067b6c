import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { openPalette, paletteOpen } from "./palette-open.ts";

const Loaded = signal<{ readonly Palette: ComponentType } | undefined>(undefined);

/** Command palette, opened with Ctrl K or ⌘ K. */
export function Palette() {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      openPalette();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const open = paletteOpen.value;
  useEffect(() => {
    if (open && Loaded.peek() === undefined)
      void import("./palette.tsx").then((module) => {
        Loaded.value = module;
      });
  }, [open]);
  const Shown = Loaded.value?.Palette;
  return open && Shown ? <Shown /> : null;
}
