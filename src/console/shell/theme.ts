import { signal } from "@preact/signals";

/** `auto`: the theme of the system. */
export type Theme = "auto" | "light" | "dark";

const CHOSEN = "mooring.theme";
export const themes: readonly Theme[] = ["auto", "light", "dark"];

export const theme = signal<Theme>(
  themes.find((one) => one === localStorage.getItem(CHOSEN)) ?? "auto",
);

/** Applies the chosen theme and stores it for the next visit. */
export function followTheme(): void {
  theme.subscribe((chosen) => {
    document.documentElement.dataset["theme"] = chosen;
    localStorage.setItem(CHOSEN, chosen);
  });
}
