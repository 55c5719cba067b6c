import { lazy } from "../components/lazy.tsx";

/** The form of a site, which is loaded when it is opened. */
export const SiteForm = lazy(() => import("./site-form.tsx").then((module) => module.SiteForm));
