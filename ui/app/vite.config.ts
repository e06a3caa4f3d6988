import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The bundle is committed and must come out the same everywhere: no source maps, no times, names by content.
export default defineConfig({
  base: "/ui/",
  plugins: [react()],
  build: { outDir: "../dist", emptyOutDir: true, sourcemap: false, modulePreload: { polyfill: false }, assetsInlineLimit: 0, chunkSizeWarningLimit: 700 },
});
