import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "../i18n/language.ts";
import { Notice, Skeleton } from "./state.tsx";

/**
 * Component whose code is loaded when it is first shown, so that a page without it stays small.
 *
 * @param load imports it.
 */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const found = useSignal<ComponentType<P> | Error | undefined>(loaded);
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then(
        (component) => {
          loaded = component;
          found.value = component;
        },
        (error: unknown) => {
          found.value = new Error("not loaded", { cause: error });
        },
      );
    }, [found]);
    const Found = found.value;
    if (Found === undefined) return <Skeleton rows={1} />;
    if (Found instanceof Error) return <Notice kind="wrong">{t("state.offline")}</Notice>;
    return <Found {...props} />;
  };
}
