"""What all packages share and no user needs: types, checks, files, parallel work, descents."""
